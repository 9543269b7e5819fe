"""One conversation over every wire: whatever the provider speaks, the same events come out and the same things go in.

Text, reasoning, two parallel calls, a bad call that is repaired, usage, a 429, streams that break, a search by the
provider itself; and a thread that changes from each wire to each other in the middle of a turn.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from llm import (
    Adapted,
    Assistant,
    Event,
    Finish,
    HostedSearch,
    HostedSearchEnd,
    HostedSearchStart,
    Message,
    Model,
    ModelBusy,
    ModelError,
    Models,
    ModelSettings,
    Patience,
    Provider,
    Reasoning,
    ReasoningData,
    ReasoningDelta,
    Request,
    Served,
    Source,
    StreamBroken,
    System,
    TextDelta,
    Tool,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
    Usage,
    User,
    Wants,
)
from tests.kit.model import ScriptedModel

STRINGS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (Tool("weather", "The weather of a city.", STRINGS), Tool("calculator", "Computes.", STRINGS))


@dataclass(frozen=True)
class Spoken:
    """A wire as it is asked for. `carries_text`: arguments are text on it, which may be no JSON at all."""

    model_id: str
    wants: Wants = field(default_factory=Wants)
    carries_text: bool = True
    counts_cache: bool = True
    searches: bool = False


WIRES = {
    "chat": Spoken("openai/gpt-5.6-terra"),
    "compatible": Spoken("lab/llama-4"),
    "openrouter": Spoken("openrouter/meta/llama-4"),
    "responses": Spoken("openai/gpt-5.6-terra", Wants(hosted_search=True, reasoning=True), searches=True),
    "ollama": Spoken("ollama/qwen3:8b", carries_text=False, counts_cache=False),
    "anthropic": Spoken("anthropic/claude-sonnet-4-5", Wants(hosted_search=True), searches=True),
    "gemini": Spoken("gemini/gemini-3.5-flash", Wants(hosted_search=True), carries_text=False, searches=True),
}


@pytest.fixture(scope="module")
def scripted() -> Iterator[ScriptedModel]:
    with ScriptedModel.started() as model:
        yield model


@pytest.fixture
async def models(scripted: ScriptedModel) -> AsyncIterator[Models]:
    providers = (
        Provider("openai", "openai", scripted.url, "sk-openai-0001"),
        Provider("lab", "compatible", scripted.url),
        Provider("openrouter", "openrouter", scripted.url, "sk-or-0001"),
        Provider("ollama", "ollama", scripted.root),
        Provider("anthropic", "anthropic", scripted.root, "sk-ant-0001"),
        Provider("gemini", "gemini", scripted.root, "AIza-0001"),
    )
    models = Models(ModelSettings(providers=providers, patience=Patience(connect=5, first_byte=20, silence=20, tail=1)))
    yield models
    await models.aclose()


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Spoken:
    return WIRES[request.param]


def resolve(models: Models, spoken: Spoken) -> Model:
    return models.resolve(spoken.model_id, wants=spoken.wants)


class Heard:
    """The events of one call, put together."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.text = "".join(event.text for event in events if isinstance(event, TextDelta))
        self.thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
        self.usage = next((event for event in events if isinstance(event, Usage)), None)
        self.calls = self._calls()

    def _calls(self) -> tuple[ToolCall, ...]:
        starts = [event for event in self.events if isinstance(event, ToolCallStart)]
        arguments = [""] * len(starts)
        for event in self.events:
            if isinstance(event, ToolCallDelta):
                arguments[event.index] += event.arguments
        assert [start.index for start in starts] == list(range(len(starts)))
        return tuple(
            ToolCall(start.provider_call_id, start.name, text) for start, text in zip(starts, arguments, strict=True)
        )

    def as_message(self) -> Assistant:
        """The step as it goes back, its reasoning put together as the runner does."""
        kept: list[Reasoning] = []
        thought = ""
        for event in self.events:
            if isinstance(event, ReasoningDelta):
                thought += event.text
            elif isinstance(event, ReasoningData):
                # Through JSON, as in a row of Postgres.
                kept.append(Reasoning(thought, event.provider, json.loads(json.dumps(event.data))))
                thought = ""
        return Assistant(self.text, self.calls, tuple(kept))


async def listen(model: Model, request: Request) -> Heard:
    events: list[Event] = []
    async with model.call(request) as call:
        async for some in call.stream():
            assert some, "a list is never empty"
            events += some
    kinds = [type(event) for event in events]
    assert kinds[-1] is Finish
    assert kinds.count(Finish) == 1
    assert kinds.count(Usage) <= 1
    assert kinds.count(Served) == 1
    return Heard(events)


def request_of(*messages: Message, tools: tuple[Tool, ...] = TOOLS, **more: Any) -> Request:
    return Request((System("You are a test."), *messages), tools, **more)


def results_of(said: Assistant, *texts: str) -> list[Message]:
    return [ToolResult(call.provider_call_id, text) for call, text in zip(said.calls, texts, strict=True)]


CONVERSATION = (
    '[[reasoning=4 text="Let me look." tool=weather:{"city": "Bonn"} tool=calculator:{"city": "2+2"}]]'
    '[[reasoning=2 tool=weather:"{\\"city\\": \\"Pa"]]'
    '[[reasoning=1 tool=weather:{"city": "Paris"}]]'
    '[[reasoning=3 text="Rain in both."]]'
)


async def test_the_same_conversation(models: Models, scripted: ScriptedModel, wire: Spoken):
    model = resolve(models, wire)
    asked = f"How is it there, {wire.model_id} {model.wire}? {CONVERSATION}"
    messages: list[Message] = [User(asked)]

    async def step(*results: str) -> Heard:
        heard = await listen(model, request_of(*messages, effort="low"))
        said = heard.as_message()
        messages.extend([said, *results_of(said, *results)])
        assert heard.usage is not None
        assert heard.usage.input > 0
        assert (heard.usage.cached > 0) is wire.counts_cache
        return heard

    first = await step("Rain.", "4")
    assert first.text == "Let me look."
    assert len(first.thought.split()) == 4
    assert [call.name for call in first.calls] == ["weather", "calculator"]
    assert [json.loads(call.arguments) for call in first.calls] == [{"city": "Bonn"}, {"city": "2+2"}]
    assert len({call.provider_call_id for call in first.calls}) == 2
    assert first.usage is not None
    assert first.usage.output == 7
    assert isinstance(first.events[-1], Finish)
    assert first.events[-1].reason == "tool_calls"

    (bad,) = (await step("Error: the arguments are not what the schema asks for.")).calls
    if wire.carries_text:
        assert bad.arguments == '{"city": "Pa'
    else:
        assert json.loads(bad.arguments) == {"malformed": '{"city": "Pa'}

    (repaired,) = (await step("Rain.")).calls
    assert json.loads(repaired.arguments) == {"city": "Paris"}
    assert len({bad.provider_call_id, repaired.provider_call_id}) == 2

    last = await step()
    assert last.text == "Rain in both."
    assert isinstance(last.events[-1], Finish)
    assert last.events[-1].reason == "stop"

    # And a second question: reasoning of the turn before stands no longer in the way.
    messages.append(User("Thanks."))
    assert (await listen(model, request_of(*messages, effort="low"))).text == "You said: Thanks."

    served = await scripted.wait(ended=4, user=asked)
    assert [record["step"] for record in served] == [0, 1, 2, 3]
    assert [record["outcome"] for record in served] == ["finished"] * 4
    assert {tuple(record["tools"]) for record in served} == {("weather", "calculator")}


async def test_a_429_says_how_long_to_wait_and_passes(models: Models, wire: Spoken):
    model = resolve(models, wire)
    request = request_of(User(f"{model.wire} busy [[status=429 retry_after=7 times=1 text=Back.]]"))
    with pytest.raises(ModelBusy) as raised:
        await listen(model, request)
    assert (raised.value.status, raised.value.retry_after, raised.value.started) == (429, 7, False)
    assert (await listen(model, request)).text == "Back."


@pytest.mark.parametrize("fault", ["cut=3", "reset=3"])
async def test_a_stream_that_breaks_gives_what_came_and_can_be_made_again(models: Models, wire: Spoken, fault: str):
    model = resolve(models, wire)
    request = request_of(User(f'{model.wire} breaks [[{fault} times=1 text="one two three four five"]]'))
    said: list[str] = []

    async def listen_to_the_break() -> None:
        async with model.call(request) as call:
            async for events in call.stream():
                said.extend(event.text for event in events if isinstance(event, TextDelta))

    with pytest.raises(StreamBroken) as raised:
        await listen_to_the_break()
    assert raised.value.retryable
    assert raised.value.started
    assert "".join(said) == "one two three"
    assert (await listen(model, request)).text == "one two three four five"


async def test_an_error_in_the_middle_is_one_to_try_again(models: Models, wire: Spoken):
    model = resolve(models, wire)
    with pytest.raises(ModelError) as raised:
        await listen(model, request_of(User("[[tokens=5 error=2]]")))
    assert raised.value.retryable
    assert raised.value.started


@pytest.mark.parametrize(
    "quirk",
    ["bytes=1", "crlf", "comments", "usage=late", "usage=finish", "calls=whole", "calls=empty", "done=0"],
)
async def test_quirks_make_no_difference(models: Models, wire: Spoken, quirk: str):
    model = resolve(models, wire)
    text = " ".join(["ha"] * 120)  # the same chunk again and again
    heard = await listen(
        model, request_of(User(f'{quirk} [[{quirk} text="{text}" reasoning=1 tool=weather:{{"city": "Bonn"}}]]'))
    )
    assert heard.text == text
    assert [json.loads(call.arguments) for call in heard.calls] == [{"city": "Bonn"}]
    assert heard.usage is not None
    assert heard.usage.output == 121


async def test_without_usage_none_is_made_up(models: Models, wire: Spoken):
    heard = await listen(resolve(models, wire), request_of(User("[[usage=none text=Hi]]")))
    assert heard.text == "Hi"
    if wire.model_id.startswith("anthropic/"):
        return  # it always counts
    assert heard.usage is None


async def test_the_providers_own_search_tells_query_and_sources(models: Models, scripted: ScriptedModel, wire: Spoken):
    model = resolve(models, wire)
    assert model.abilities.hosted_search is wire.searches
    if not wire.searches:
        return
    words = f'{model.wire} news [[search="news of Bonn" text="It rains." sources={{"https://a.test/": "A"}}]]'
    place = HostedSearch(country="DE", city="Bonn", timezone="Europe/Berlin")
    heard = await listen(model, request_of(User(words), hosted_search=place))
    assert heard.text == "It rains."
    assert [event for event in heard.events if isinstance(event, Source)] == [Source("https://a.test/", "A")]
    starts = [event.id for event in heard.events if isinstance(event, HostedSearchStart)]
    ends = [event for event in heard.events if isinstance(event, HostedSearchEnd)]
    assert starts == [end.id for end in ends]
    assert [end.query for end in ends] == ["news of Bonn"]
    (record,) = await scripted.wait(ended=1, user=words)
    assert record["searches"]


@pytest.fixture(scope="module")
def begun() -> dict[str, Assistant]:
    """What each wire said in the first step of a turn, made once."""
    return {}


async def test_a_thread_changes_the_model_in_the_middle_of_a_turn(
    models: Models, wire: Spoken, begun: dict[str, Assistant]
):
    asked = User('Both [[reasoning=2 tool=weather:{"city": "Bonn"} tool=weather:{"city": "Rome"}]][[text="Rain."]]')
    model = resolve(models, wire)
    for name, other in WIRES.items():
        if name not in begun:
            begun[name] = (await listen(resolve(models, other), request_of(asked, effort="low"))).as_message()
        said = begun[name]
        # Two of the same turn, as after a fallback, and of the turn before, as after a person's choice.
        now = [asked, said, *results_of(said, "Rain.", "Sun.")]
        before = [*now, Assistant("Rain."), User("And now?")]
        try:
            assert (await listen(model, request_of(*now, effort="low"))).text == "Rain."
            assert (await listen(model, request_of(*before, effort="low"))).text == "You said: And now?"
        except ModelError as error:
            raise AssertionError(f"{name} → {model.wire}: {error.detail}") from error


async def test_ids_of_calls_that_a_provider_does_not_take_are_put_otherwise(models: Models, wire: Spoken):
    call_id = "call_" + "x" * 70 + "__thought__ab+/=="
    said = Assistant("", (ToolCall(call_id, "weather", '{"city": "Bonn"}'),))
    request = request_of(User("[[tool=weather]][[text=Rain.]]"), said, ToolResult(call_id, "Rain."))
    assert (await listen_as_the_runner_does(resolve(models, wire), request)).text == "Rain."


@pytest.mark.parametrize(
    "part", ["temperature", "stream_options", "reasoning_effort", "reasoning.summary", "max_tokens"]
)
async def test_a_part_that_is_refused_is_left_out_the_next_time(models: Models, part: str):
    """Of the wires that are ours: what a compatible server does not know is learned, once for each model."""
    words = User(f"[[refuses={part} text=Fine.]]")
    request = request_of(words, effort="low", temperature=0.5, max_tokens=50)
    for name in ("compatible", "chat", "responses"):
        model = models.resolve(f"{WIRES[name].model_id}-{part}", wants=WIRES[name].wants)
        assert (await listen_as_the_runner_does(model, request)).text == "Fine."
        assert (await listen(model, request)).text == "Fine."


async def listen_as_the_runner_does(model: Model, request: Request) -> Heard:
    """Asks once more where the provider did not take a part of the request; never twice."""
    try:
        return await listen(model, request)
    except Adapted:
        return await listen(model, request)
