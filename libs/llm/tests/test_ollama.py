"""Ollama's own wire: lines into events, our request into its body, and the fetching of a model."""

from typing import Any

import orjson
import pytest

from llm import (
    Assistant,
    Event,
    Finish,
    ModelError,
    Models,
    ModelSettings,
    ModelUnknown,
    Patience,
    Provider,
    Request,
    StreamBroken,
    System,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
    Usage,
    User,
)
from llm.json_lines import LineSplitter
from llm.ollama_lines import OllamaReader
from llm.ollama_pull import Progress, pull
from llm.ollama_request import OllamaSettings, encode
from llm.sse import EventTooLarge
from tests.kit.model import ScriptedModel

from .conftest import CALCULATOR


def read(*lines: dict[str, Any]) -> list[Event]:
    reader = OllamaReader("ollama/m")
    return reader.read([orjson.dumps(line) for line in lines]) + reader.end()


def test_calls_without_ids_get_some_and_arguments_may_be_missing():
    calls = [{"function": {"name": "f", "arguments": {"a": 1}}}, {"id": "own", "function": {"name": "g"}}]
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3}
    events = read({"message": {"content": "x", "tool_calls": calls}, "done": False}, end)
    assert isinstance(events[1], ToolCallStart)
    assert events[1].provider_call_id.startswith("call_")
    assert events[0] == TextDelta("x")
    assert events[2:] == [
        ToolCallDelta(0, '{"a":1}'),
        ToolCallStart(1, "own", "g"),
        Usage(7, 0, 3, 0),
        Finish("tool_calls", "stop"),
    ]


def test_an_answer_that_was_cut_short():
    assert read({"done": True, "done_reason": "length"}) == [Finish("length", "length")]


@pytest.mark.parametrize("line", [{"error": "model runner has stopped"}, [1], {"message": {"tool_calls": [5]}}])
def test_what_goes_wrong_can_be_tried_again(line: Any):
    with pytest.raises(ModelError) as raised:
        read({"message": {"content": "x"}}, line)
    assert raised.value.retryable
    assert raised.value.started


def test_an_end_without_done_is_a_break():
    with pytest.raises(StreamBroken):
        read({"message": {"content": "x"}, "done": False})


CONVERSATION = (
    System("S"),
    User("U"),
    Assistant("", (ToolCall("c1", "calculator", '{"a": 1}'), ToolCall("c2", "calculator", "{bad"))),
    ToolResult("c1", "4"),
    ToolResult("c2", "no"),
)


def body_of(**more: Any) -> dict[str, Any]:
    settings = more.pop("settings", OllamaSettings())
    name = more.pop("name", "qwen3:8b")
    return orjson.loads(encode(Request(CONVERSATION, (CALCULATOR,), **more), name, settings))


def test_a_conversation():
    function = {"name": "calculator", "arguments": {"a": 1}}
    bad = {"name": "calculator", "arguments": {"malformed_arguments": "{bad"}}
    assert body_of()["messages"] == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "U"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "function": function}, {"id": "c2", "function": bad}],
        },
        {"role": "tool", "tool_name": "calculator", "tool_call_id": "c1", "content": "4"},
        {"role": "tool", "tool_name": "calculator", "tool_call_id": "c2", "content": "no"},
    ]


def test_no_tools_where_a_reply_is_wanted():
    assert "tools" in body_of()
    assert "tools" not in body_of(tool_choice="none")


@pytest.mark.parametrize(
    ("name", "effort", "think"),
    [
        ("qwen3:8b", None, None),
        ("qwen3:8b", "none", False),
        ("qwen3:8b", "high", True),
        ("gpt-oss:20b", "high", "high"),
        ("gpt-oss:20b", "minimal", "low"),
    ],
)
def test_thinking(name: str, effort: str | None, think: bool | str | None):
    assert body_of(name=name, effort=effort).get("think") == think


def test_context_and_keeping_are_settings():
    assert body_of()["options"]["num_ctx"] in (16_384, 32_768)
    body = body_of(settings=OllamaSettings(context=8192, keep_alive="-1"), max_tokens=5)
    assert body["options"] == {"num_ctx": 8192, "num_predict": 5}
    assert body["keep_alive"] == -1
    assert body_of()["keep_alive"] == "30m"


def test_lines_however_they_are_cut():
    text = b'{"a":1}\n\n{"b":2}\r\n{"c":3}'
    for size in range(1, len(text)):
        splitter = LineSplitter(100)
        lines = [line for at in range(0, len(text), size) for line in splitter.feed(text[at : at + size])]
        assert [orjson.loads(line) for line in lines + splitter.end()] == [{"a": 1}, {"b": 2}, {"c": 3}]
    with pytest.raises(EventTooLarge):
        LineSplitter(10).feed(b"x" * 11)


async def test_fetching_a_model(scripted: ScriptedModel):
    ollama = Provider("ollama", "ollama", f"{scripted.root}/v1")  # the address that other programs want
    models = Models(ModelSettings(providers=(ollama,), patience=Patience(silence=0.3)))
    pulls = {"tiny": {"bytes": 1000, "steps": 4}, "none": {"error": "pull model manifest: file does not exist"}}
    scripted.script({"pulls": {**pulls, "stuck": {"rate": 0.2}}})
    try:
        steps = [progress async for progress in pull(ollama, "tiny", models.connections)]
        assert steps[0] == Progress("pulling manifest")
        assert [step.completed for step in steps if step.status.startswith("pulling ")][1:] == [0, 250, 500, 750, 1000]
        assert steps[-1] == Progress("success", 1000, 1000, is_done=True)
        with pytest.raises(ModelUnknown):
            await anext(progress async for progress in pull(ollama, "none", models.connections) if progress.total)
        with pytest.raises(StreamBroken) as raised:
            await anext(progress async for progress in pull(ollama, "stuck", models.connections) if progress.is_done)
        assert raised.value.reason == "silence"
    finally:
        scripted.unscript()
        await models.aclose()
