"""The stand-in: honest, deterministic, able to call tools."""

import orjson
import pytest

from llm import (
    Assistant,
    Event,
    Finish,
    Models,
    ModelSettings,
    Request,
    Tool,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
    Usage,
    User,
)

from .conftest import text_of

TOOLS = (
    Tool("calculator", "", {"type": "object", "properties": {"expression": {}}, "required": ["expression"]}),
    Tool("current_time", "", {"type": "object", "properties": {"zone": {}}}),
)


async def play(*messages, tools: tuple[Tool, ...] = TOOLS) -> list[Event]:
    model = Models(ModelSettings(demo_pace=0)).resolve("demo/tour")
    events: list[Event] = []
    async with model.call(Request(messages, tools)) as call:
        async for some in call.stream():
            events += some
    return events


def calls_of(events: list[Event]) -> dict[str, object]:
    names = {event.index: event.name for event in events if isinstance(event, ToolCallStart)}
    texts = dict.fromkeys(names, "")
    for event in events:
        if isinstance(event, ToolCallDelta):
            texts[event.index] += event.arguments
    return {names[index]: orjson.loads(text) for index, text in texts.items()}


async def test_it_says_what_it_is_and_how_to_go_on():
    events = await play(User("Hello!"))
    text = text_of(events)
    assert "scripted stand-in" in text
    assert all(
        name in text for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RETINUE_MODEL", "```sh", "| --- |", "\n- ")
    )
    assert isinstance(events[-2], Usage)
    assert events[-1] == Finish("stop")
    assert events == await play(User("Hello!"))


@pytest.mark.parametrize(
    ("words", "calls"),
    [
        ("What is 12 * 34?", {"calculator": {"expression": "12 * 34"}}),
        ("compute (1+2)*3 please", {"calculator": {"expression": "(1+2)*3"}}),
        ("what time is it?", {"current_time": {}}),
        ("What is 2+2, and what time is it now?", {"calculator": {"expression": "2+2"}, "current_time": {}}),
        ("hello", {}),
        ("my number is 2026", {}),
        ("Is 12 * 34. right?", {"calculator": {"expression": "12 * 34"}}),
        ("what became of 0192a0b0-0000-7000-8000-000000000000?", {}),
        ("what became of 12345678-1234-4234-8234-123456789012?", {}),
        ("we met on 2026-11-30, or on 30.11.2026, or 11/30/2026", {}),
        ("it began at 2026-11-30T20:15:00+01:00", {}),
        ("version 3.11-rc2 of model gpt-5-2026 in a1-2", {}),
        ("on 2026-11-30, what was 7*6?", {"calculator": {"expression": "7*6"}}),
        ("what is 100/10/2?", {"calculator": {"expression": "100/10/2"}}),
        ("what is 2^10 - (3+4)?", {"calculator": {"expression": "2**10 - (3+4)"}}),
    ],
)
async def test_it_calls_tools(words: str, calls: dict[str, object]):
    events = await play(User(words))
    assert calls_of(events) == calls
    assert events[-1] == Finish("tool_calls" if calls else "stop")


@pytest.mark.timeout(10)
@pytest.mark.parametrize("words", ["1 " * 200_000, " " * 400_000, "(" * 400_000, "1+" * 200_000])
async def test_a_long_message_does_not_hold_it_up(words: str):
    assert (await play(User(words)))[-1] in (Finish("stop"), Finish("tool_calls"))


async def test_it_calls_only_what_it_is_offered():
    assert calls_of(await play(User("What is 2+2?"), tools=())) == {}


async def test_it_reports_the_results():
    call = ToolCall("demo-1-0", "calculator", '{"expression":"12 * 34"}')
    events = await play(User("What is 12 * 34?"), Assistant("", (call,)), ToolResult("demo-1-0", "408"))
    assert "> 408" in text_of(events)
    assert events[-1] == Finish("stop")


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ('{"expression":"12 * 34","result":408}', "> `12 * 34` is 408."),
        (
            '{"zone":"UTC","local":"2026-11-30T20:15:00+00:00","weekday":"Monday","utc_offset":"+0000"}',
            "> It is Monday, 2026-11-30, 20:15:00 (UTC).",
        ),
        ('{"city":"Bonn","degrees":[3,4]}', "> city: Bonn\n\n> degrees: [3,4]"),
        ('"done"', "> done"),
        ("Division by zero.", "> Division by zero."),
    ],
)
async def test_it_says_results_in_words(result: str, words: str):
    call = ToolCall("demo-1-0", "calculator", "{}")
    text = text_of(await play(User("?"), Assistant("", (call,)), ToolResult("demo-1-0", result)))
    assert text.endswith(f"this is what they found:\n\n{words}")


async def test_it_keeps_its_pace():
    model = Models(ModelSettings(demo_pace=0.001)).resolve("demo/tour")
    async with model.call(Request((User("hi"),))) as call:
        sizes = [len(some) async for some in call.stream()]
    assert max(sizes[:-1]) == 1
