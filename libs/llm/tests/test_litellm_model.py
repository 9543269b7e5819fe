"""Anthropic and Gemini through litellm, against the scripted model's wires over real HTTP."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from llm import (
    Assistant,
    Event,
    Finish,
    KeyRefused,
    ModelBusy,
    ModelError,
    Models,
    ModelSettings,
    ModelUnknown,
    Patience,
    ReasoningDelta,
    Request,
    RequestRefused,
    Served,
    StreamBroken,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
    Usage,
    User,
)
from llm.events import HostedSearchEnd, HostedSearchStart, ReasoningData, Source
from llm.litellm_library import library
from llm.provider import Provider
from llm.requests import HostedSearch, Reasoning
from tests.kit.model import ScriptedModel

from .conftest import CALCULATOR, ask, text_of

CLAUDE, GEMINI = "anthropic/claude-sonnet-4-5", "gemini/gemini-3-flash-preview"
BOTH = pytest.mark.parametrize("model_id", [CLAUDE, GEMINI])


@pytest.fixture(scope="module")
async def imported() -> None:
    """The first import is no part of anybody's patience."""
    await library()


@pytest.fixture
async def models(scripted: ScriptedModel, imported: None) -> AsyncIterator[Models]:
    url = scripted.url.removesuffix("/v1")
    providers = tuple(Provider(kind, kind, base_url=url, key="secret-key-1") for kind in ("anthropic", "gemini"))
    patience = Patience(connect=0.5, first_byte=1, silence=0.5, tail=0.2)
    models = Models(ModelSettings(CLAUDE, patience=patience, providers=providers))
    yield models
    await models.aclose()


async def answer(models: Models, model_id: str, asked: Request | str) -> list[Event]:
    request = ask(asked) if isinstance(asked, str) else asked
    events: list[Event] = []
    async with models.resolve(model_id).call(request) as call:
        async for some in call.stream():
            assert some, "a list is never empty"
            events += some
        assert call.usage == next((event for event in events if isinstance(event, Usage)), None)
    assert isinstance(events[-1], Finish)
    assert sum(isinstance(event, Finish) for event in events) == 1
    return events


def calls_of(events: list[Event]) -> tuple[ToolCall, ...]:
    arguments: dict[int, str] = {}
    for event in events:
        if isinstance(event, ToolCallDelta):
            arguments[event.index] = arguments.get(event.index, "") + event.arguments
    starts = [event for event in events if isinstance(event, ToolCallStart)]
    assert [start.index for start in starts] == list(range(len(starts)))
    return tuple(ToolCall(start.provider_call_id, start.name, arguments.get(start.index, "")) for start in starts)


def said(events: list[Event]) -> Assistant:
    """What the runner keeps of a step: text, calls, and each piece of reasoning with its data."""
    reasoning: list[Reasoning] = []
    thought = ""
    for event in events:
        if isinstance(event, ReasoningDelta):
            thought += event.text
        elif isinstance(event, ReasoningData):
            reasoning.append(Reasoning(thought, event.provider, event.data))
            thought = ""
    return Assistant(text_of(events), calls_of(events), tuple(reasoning))


def test_what_the_library_maps_into_a_process(imported: None):
    # tests/integration/test_fast_path.py looks for these in a runner that should have none of them.
    mapped = Path("/proc/self/maps").read_text()
    assert [folder for folder in ("/litellm/", "/tiktoken/") if folder in mapped] == ["/litellm/", "/tiktoken/"]


@BOTH
async def test_text_reasoning_and_usage(models: Models, scripted: ScriptedModel, model_id: str):
    events = await answer(models, model_id, f"plain {model_id}: Grüße 🦉 [[tokens=50 reasoning=10]]")
    (record,) = await scripted.wait(ended=1, user=f"plain {model_id}")
    assert record["text"] == text_of(events)
    assert isinstance(events[0], Served)
    assert events[0].model == model_id.partition("/")[2]
    assert sum(isinstance(event, ReasoningDelta) for event in events) == 10
    usage, finish = events[-2:]
    assert isinstance(usage, Usage)
    assert (usage.output, finish) == (60, Finish("stop", "stop"))
    assert 0 < usage.cached < usage.input
    assert record["with_key"]


@BOTH
async def test_two_calls_at_once_and_what_comes_after_them(models: Models, scripted: ScriptedModel, model_id: str):
    words = f"both {model_id} "
    words += '[[reasoning=5 tool=calculator:{"expression":"1"} tool=calculator:{"expression":"2"}]] [[text="Three."]]'
    first = User(words)
    events = await answer(models, model_id, Request((first,), (CALCULATOR,)))
    step = said(events)
    assert [call.arguments.replace(" ", "") for call in step.calls] == ['{"expression":"1"}', '{"expression":"2"}']
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "tool_calls"
    assert step.reasoning, "something that the provider wants back"
    results = tuple(ToolResult(call.provider_call_id, "3") for call in step.calls)
    # The server refuses thoughts that are not its own, missing ones, and calls without results.
    again = await answer(models, model_id, Request((first, step, *results), (CALCULATOR,), effort="low"))
    assert text_of(again).strip() == "Three."


@BOTH
async def test_foreign_thoughts_and_ids_are_not_sent_back(models: Models, model_id: str):
    foreign = Reasoning("Hm.", "chat:-:openai/x", {"signature": "alien", "length": 3})
    step = Assistant("", (ToolCall("call:1|fc_2/+=", "calculator", "{}"),), (foreign,))
    first = User('switched [[tool=calculator:{}]] [[text="Done."]]')
    asked = Request((first, step, ToolResult("call:1|fc_2/+=", "3")), (CALCULATOR,), effort="low")
    assert text_of(await answer(models, model_id, asked)).strip() == "Done."


@BOTH
async def test_the_provider_searches_and_names_its_sources(models: Models, model_id: str):
    words = 'look it up [[reasoning=3 text="It is so." search="owls" sources={"https://owls.test/a":"Owls"}]]'
    asked = Request((User(words),), (CALCULATOR,), hosted_search=HostedSearch(country="DE"))
    events = await answer(models, model_id, asked)
    searches = [event for event in events if isinstance(event, HostedSearchStart | HostedSearchEnd)]
    assert [search.query for search in searches] == ["owls", "owls"]
    assert [event for event in events if isinstance(event, Source)] == [Source("https://owls.test/a", "Owls")]
    usage = events[-2]
    assert isinstance(usage, Usage)
    assert usage.searches == 1
    assert models.resolve(model_id).abilities.hosted_search
    assert not models.resolve("gemini/gemini-2.5-flash").abilities.hosted_search


@BOTH
async def test_a_hundred_equal_chunks_are_an_answer(models: Models, scripted: ScriptedModel, model_id: str):
    scripted.script({"rules": [{"user": "monotonous", "replies": [{"text": "la " * 150}]}]})
    events = await answer(models, model_id, "monotonous")
    scripted.unscript()
    assert text_of(events).split() == ["la"] * 150


async def test_without_usage_none_is_made_up(models: Models):
    events = await answer(models, GEMINI, "count [[tokens=5 usage=none]]")
    assert not [event for event in events if isinstance(event, Usage)]


@BOTH
@pytest.mark.parametrize(
    ("wish", "kind", "started"),
    [
        ("status=429 retry_after=3", ModelBusy, False),
        ("status=529", ModelBusy, False),
        ("status=500", ModelBusy, False),
        ("status=401", KeyRefused, False),
        ("status=404", ModelUnknown, False),
        ("status=400", RequestRefused, False),
        ("html", StreamBroken, False),
        ("silence", StreamBroken, False),
        ("cut=3", StreamBroken, True),
        ("reset=3", StreamBroken, True),
        ("hang=3", StreamBroken, True),
        ("garbage=3", StreamBroken, True),
        ("error=3", ModelBusy, True),
    ],
)
async def test_faults(
    models: Models, scripted: ScriptedModel, model_id: str, wish: str, kind: type[ModelError], started: bool
):
    words = f"fault {model_id} {wish}"
    with pytest.raises(kind) as caught:
        await answer(models, model_id, f"{words} [[{wish}]]")
    error = caught.value
    assert (type(error), error.started) == (kind, started)
    assert "secret-key-1" not in f"{error.text} {error.detail}"
    assert "litellm" not in error.text.lower()
    assert error.retry_after == (3 if "retry_after" in wish else None)
    # litellm has tried once: who tries again is decided elsewhere.
    assert len(scripted.served(user=words)) == 1


@BOTH
async def test_nobody_there(models: Models, model_id: str):
    kind = model_id.partition("/")[0]
    gone = (Provider(kind, "anthropic" if model_id == CLAUDE else "gemini", base_url="http://127.0.0.1:9", key="k"),)
    with pytest.raises(StreamBroken) as caught:
        async for _ in models.resolve(model_id, providers=gone).call(ask("hello")).stream():
            pass
    assert caught.value.reason == "unreachable"


@BOTH
async def test_cancelling_drops_the_connection(models: Models, scripted: ScriptedModel, model_id: str):
    words = f"endless {model_id}"
    begun = asyncio.Event()

    async def listen() -> None:
        async with models.resolve(model_id).call(ask(f"{words} [[tokens=1000 rate=50]]")) as call:
            async for events in call.stream():
                if any(isinstance(event, TextDelta) for event in events):
                    begun.set()

    task = asyncio.create_task(listen())
    await asyncio.wait_for(begun.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (record,) = await scripted.wait(ended=1, user=words)
    assert record["outcome"] == "cancelled"


def test_the_fast_path_imports_neither_litellm_nor_httpx(scripted: ScriptedModel):
    program = """
import asyncio, sys
from llm import Models, ModelSettings, Request, User
from llm.catalogue import Catalogue

async def turn(url):
    models = Models(ModelSettings("openai/scripted", url))
    catalogue = Catalogue(models.connections)
    await catalogue.models_of(models.providers[0])
    catalogue.facts("openai/scripted", models.providers[0])
    async with models.resolve().call(Request((User("hello [[tokens=3]]"),))) as call:
        said = [event async for events in call.stream() for event in events]
    await catalogue.aclose()
    await models.aclose()
    return len(said)

assert asyncio.run(turn(sys.argv[1])) > 3
print([name for name in ("litellm", "httpx", "openai") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program, scripted.url], capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
