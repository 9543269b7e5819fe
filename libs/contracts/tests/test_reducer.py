"""What is ours in the reducer: marks, snapshots, going on from stored parts. Equality with the SDK: tests/contract."""

import pytest

from contracts import chunks as c
from contracts.reducer import Reducer


def reduced(*sequence: c.Chunk) -> Reducer:
    reducer = Reducer()
    for chunk in sequence:
        reducer.apply(chunk)
    return reducer


def test_a_commit_asks_for_what_changed_since_the_last():
    reducer = reduced(c.start("m"), c.start_step(), c.text_start("a"), c.text_delta("a", "Hel"))
    first = reducer.mark()
    assert [ordinal for ordinal, _ in reducer.changed_since(0)] == [0, 1]
    assert reducer.changed_since(first) == []
    for chunk in [c.text_delta("a", "lo"), c.text_end("a"), c.tool_input_available("c", "t", {}, ours=True)]:
        reducer.apply(chunk)
    changed = reducer.changed_since(first)
    assert [ordinal for ordinal, _ in changed] == [1, 2]
    assert changed[0][1]["text"] == "Hello"
    second = reducer.mark()
    reducer.apply(c.tool_output_available("c", 42, ours=True))
    assert [(ordinal, part["output"]) for ordinal, part in reducer.changed_since(second)] == [(2, 42)]


def test_snapshots_do_not_change_later():
    reducer = reduced(c.start("m"), c.start_step(), c.text_start("a"), c.data("plan", 1, "x"))
    reducer.apply(c.tool_input_start("c", "t", ours=True))
    before = reducer.parts
    kept = [dict(part) for part in before]
    for chunk in [c.text_delta("a", "x"), c.data("plan", 2, "x"), c.tool_input_delta("c", "{")]:
        reducer.apply(chunk)
    assert before == kept
    assert reducer.parts != kept


def test_a_message_goes_on_from_its_stored_parts():
    stored = reduced(c.start("m"), c.start_step(), c.tool_input_available("c", "t", {}, ours=True)).parts
    going_on = Reducer("m", stored, {"a": {"b": 1}})
    for chunk in [c.start("m", {"a": {"c": 2}}), c.tool_output_available("c", 1, ours=True), c.start_step()]:
        going_on.apply(chunk)
    assert [part["type"] for part in going_on.parts] == ["step-start", "tool-t", "step-start"]
    assert going_on.parts[1]["output"] == 1
    assert going_on.metadata == {"a": {"b": 1, "c": 2}}


def test_input_that_was_streaming_when_stored_streams_on():
    half = reduced(
        c.start("m"), c.start_step(), c.tool_input_start("c", "t", ours=True), c.tool_input_delta("c", '{"a":')
    )
    going_on = Reducer("m", half.parts)
    going_on.apply(c.tool_input_delta("c", "1"))
    assert going_on.parts[1]["input"] == {"a": 1}


def test_a_start_with_another_id_begins_anew():
    reducer = reduced(c.start("m", {"x": 1}), c.start_step(), c.text_start("a"), c.start("n"))
    assert reducer.message == {"id": "n", "role": "assistant", "parts": []}


def test_superseded_parts_are_dropped_and_forgotten():
    reducer = reduced(
        c.start("m"), c.start_step(), c.text_start("a"), c.text_end("a"), c.start_step(), c.text_start("b")
    )
    reducer.apply(c.tool_input_start("c", "t", ours=True))
    reducer.drop([2, 3, 4])
    assert len(reducer) == 2
    with pytest.raises(c.ChunkError):
        reducer.apply(c.text_delta("b", "x"))
    with pytest.raises(c.ChunkError):
        reducer.apply(c.tool_input_delta("c", "x"))
    reducer.apply(c.tool_input_available("d", "t", {}, ours=True))
    assert [part["type"] for part in reducer.parts] == ["step-start", "text", "tool-t"]


def test_the_finish_reason_is_kept():
    assert reduced(c.start("m"), c.finish("length"), c.finish()).finish_reason == "length"
