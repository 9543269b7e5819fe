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
    ],
)
async def test_it_calls_tools(words: str, calls: dict[str, object]):
    events = await play(User(words))
    assert calls_of(events) == calls
    assert events[-1] == Finish("tool_calls" if calls else "stop")


async def test_it_calls_only_what_it_is_offered():
    assert calls_of(await play(User("What is 2+2?"), tools=())) == {}


async def test_it_reports_the_results():
    call = ToolCall("demo-1-0", "calculator", '{"expression":"12 * 34"}')
    events = await play(User("What is 12 * 34?"), Assistant("", (call,)), ToolResult("demo-1-0", "408"))
    assert "> 408" in text_of(events)
    assert events[-1] == Finish("stop")


async def test_it_keeps_its_pace():
    model = Models(ModelSettings(demo_pace=0.001)).resolve("demo/tour")
    async with model.call(Request((User("hi"),))) as call:
        sizes = [len(some) async for some in call.stream()]
    assert max(sizes[:-1]) == 1
