"""Chunks into events: the habits of many providers, and any cut of the stream into reads."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm import (
    Event,
    Finish,
    KeyRefused,
    ModelBusy,
    ReasoningDelta,
    RequestRefused,
    Served,
    StreamBroken,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from llm.chat_chunks import ChunkReader
from llm.sse import Splitter


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def fragment(index: int | None, call_id: str | None = None, name: str | None = None, arguments: Any = None):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    call = {"index": index, "id": call_id, "function": function}
    return {key: value for key, value in call.items() if value is not None}


def calls(*fragments: dict[str, Any]) -> dict[str, Any]:
    return delta(tool_calls=list(fragments))


def read(*chunks: dict[str, Any] | bytes) -> list[Event]:
    reader = ChunkReader("openai/m")
    events: list[Event] = []
    for chunk in chunks:
        events += reader.read([chunk if isinstance(chunk, bytes) else orjson.dumps(chunk)])
    return events + reader.end()


STOP = delta("stop")


def test_text_reasoning_served_usage_finish():
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
        "cost": 0.0015,
    }
    events = read(
        {"id": "r1", "model": "m-2026", **delta(role="assistant", content="")},
        delta(reasoning_content="hm"),
        delta(reasoning=" so", content="He"),
        delta(content="llo"),
        STOP,
        {"choices": [], "usage": usage},
        b"[DONE]",
    )
    assert events == [
        Served("m-2026", "r1"),
        ReasoningDelta("hm"),
        ReasoningDelta(" so"),
        TextDelta("He"),
        TextDelta("llo"),
        Usage(10, 4, 5, 2, 1500),
        Finish("stop", "stop"),
    ]


@pytest.mark.parametrize(
    "chunks",
    [
        (calls(fragment(0, "a", "f", "")), calls(fragment(0, None, None, "{}")), calls(fragment(1, "b", "g", "{}"))),
        (calls(fragment(0, "a", "f", "{}"), fragment(1, "b", "g", "{}")),),
        (calls(fragment(None, "a", "f", "{}"), fragment(None, "b", "g", "{}")),),
        (calls(fragment(0, "a", "f", "{}")), calls(fragment(0, "b", "g", "{}"))),
        (calls(fragment(0, "a", "f", {}), fragment(1, "b", "g", {})),),
        (
            calls(fragment(0, "a", "f", "{"), fragment(1, "b", "g", "{")),
            calls(fragment(0, "", "", "}"), fragment(1, arguments="}")),
        ),
        (calls(fragment(0, "a")), calls(fragment(0, None, "f", "{}")), calls(fragment(1, "b", "g", "{}"))),
        (calls(fragment(0, None, None, "{")), calls(fragment(0, "a", "f", "}")), calls(fragment(1, "b", "g", "{}"))),
        (calls(fragment(0, "a", "f", "{")), calls(fragment(0, "a", "f", "}")), calls(fragment(4, "b", "g", "{}"))),
        (
            calls(fragment(None, "a", "f", "{")),
            calls(fragment(None, None, None, "}")),
            calls(fragment(None, "b", "g", "{}")),
        ),
    ],
    ids=[
        "fragments",
        "whole",
        "no index",
        "same index",
        "objects",
        "interleaved",
        "name late",
        "arguments first",
        "name repeated",
        "no index, fragments",
    ],
)
def test_two_calls_however_they_come(chunks: tuple[dict[str, Any], ...]):
    events = read(*chunks, delta("tool_calls"))
    starts = [event for event in events if isinstance(event, ToolCallStart)]
    assert starts == [ToolCallStart(0, "a", "f"), ToolCallStart(1, "b", "g")]
    arguments = {0: "", 1: ""}
    for event in events:
        if isinstance(event, ToolCallDelta):
            arguments[event.index] += event.arguments
    assert arguments == {0: "{}", 1: "{}"}
    assert events[-1] == Finish("tool_calls", "tool_calls")


def test_calls_without_ids_get_unique_ones():
    one, two = (read(calls(fragment(0, None, "f", "{}")), delta("tool_calls"))[0] for _ in range(2))
    assert isinstance(one, ToolCallStart)
    assert isinstance(two, ToolCallStart)
    assert one.provider_call_id != two.provider_call_id


def test_a_call_without_a_name_is_shown_at_the_end():
    assert read(calls(fragment(0, "a", None, "{}")), STOP) == [
        ToolCallStart(0, "a", ""),
        ToolCallDelta(0, "{}"),
        Finish("tool_calls", "stop"),
    ]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "tool_calls"),
        ("weird", "other"),
    ],
)
def test_finish_reasons(raw: str, reason: str):
    assert read(delta(content="x"), delta(raw)) == [TextDelta("x"), Finish(reason, raw)]  # type: ignore[arg-type]


def test_done_without_a_reason_is_an_end():
    assert read(delta(content="x"), b"[DONE]") == [TextDelta("x"), Finish("other", "")]


def test_an_end_without_either_is_a_break():
    with pytest.raises(StreamBroken) as raised:
        read(delta(content="x"))
    assert (raised.value.reason, raised.value.started, raised.value.retryable) == ("unfinished", True, True)


def test_usage_counted_along_comes_once():
    events = read({**delta(content="a"), "usage": {"prompt_tokens": 1}}, {**STOP, "usage": {"prompt_tokens": 7}})
    assert events == [TextDelta("a"), Usage(7, 0, 0, 0), Finish("stop", "stop")]


def test_typed_parts():
    content = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]
    assert read(delta(content=content), STOP)[:2] == [ReasoningDelta("hm"), TextDelta("yes")]


@pytest.mark.parametrize(
    "chunk",
    [{}, {"choices": []}, {"choices": None}, {"choices": [{}]}, {"choices": [{"delta": None}]}, delta(content=None)],
)
def test_empty_chunks_say_nothing(chunk: dict[str, Any]):
    assert read(chunk, STOP) == [Finish("stop", "stop")]


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b"7",
        b'"x"',
        b'{"choices": 5}',
        b'{"choices": [5]}',
        b'{"choices":[{"delta":{"tool_calls":[5]}}]}',
        b"<html>",
        b"\xff",
    ],
)
def test_bad_data(data: bytes):
    with pytest.raises(StreamBroken) as raised:
        read(delta(content="a"), data)
    assert raised.value.reason == "bad_data"
    assert raised.value.started


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "overloaded", "type": "server_error"}, ModelBusy),
        ({"message": "slow down", "code": 429}, ModelBusy),
        ({"message": "no", "code": 401}, KeyRefused),
        ({"message": "You exceeded your quota", "code": "insufficient_quota"}, KeyRefused),
        ({"message": "This model's maximum context length is 8192 tokens"}, RequestRefused),
        ("just words", ModelBusy),
    ],
)
def test_an_error_within_the_stream(error: Any, kind: type[Exception]):
    with pytest.raises(kind) as raised:
        read(delta(content="a"), {"error": error})
    assert raised.value.started  # type: ignore[attr-defined]


TEXTS = st.text(min_size=1, max_size=8)
CHUNKS = st.one_of(
    TEXTS.map(lambda text: delta(content=text)),
    TEXTS.map(lambda text: delta(reasoning_content=text)),
    st.tuples(st.integers(0, 2), TEXTS).map(lambda it: calls(fragment(it[0], f"c{it[0]}", f"tool{it[0]}", it[1]))),
    st.tuples(st.integers(0, 2), TEXTS).map(lambda it: calls(fragment(it[0], None, None, it[1]))),
    st.just({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
    st.just(delta()),
)


@settings(max_examples=200)
@given(
    chunks=st.lists(CHUNKS, max_size=12),
    line=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    comments=st.booleans(),
    done=st.booleans(),
    cuts=st.lists(st.integers(0, 4000), max_size=60),
    bytewise=st.booleans(),
)
def test_reads_make_no_difference(
    chunks: list[dict[str, Any]], line: bytes, comments: bool, done: bool, cuts: list[int], bytewise: bool
):
    stream = b""
    for chunk in [*chunks, STOP]:
        stream += b"data: " + orjson.dumps(chunk) + line + line
        if comments:
            stream += b": keep" + line + line
    if done:
        stream += b"data: [DONE]" + line + line
    wanted = through([stream])
    at = list(range(len(stream))) if bytewise else sorted({cut for cut in cuts if cut < len(stream)})
    reads = [stream[start:end] for start, end in zip([0, *at], [*at, len(stream)], strict=True)]
    assert through([piece for piece in reads if piece]) == wanted


def through(reads: list[bytes]) -> list[Event]:
    splitter, reader = Splitter(100_000), ChunkReader("openai/m")
    events: list[Event] = []
    for data in reads:
        events += reader.read(splitter.feed(data))
    events += reader.read(splitter.end())
    return [_without_made_up_id(event) for event in events + reader.end()]


def _without_made_up_id(event: Event) -> Event:
    # A call whose fragments never gave an id has a random one.
    if isinstance(event, ToolCallStart) and event.provider_call_id.startswith("call_"):
        return ToolCallStart(event.index, "", event.name)
    return event
