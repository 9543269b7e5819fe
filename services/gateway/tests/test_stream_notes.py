"""What a gateway adds to a stream by itself, as chunks that both SDKs take."""

from uuid import uuid4

import pytest

from contracts import chunks
from contracts.batches import BatchId
from contracts.chunk_order import Order
from contracts.frames import frame
from contracts.reducer import Reducer
from contracts.turns import TurnStatus
from gateway.streams import notes
from store.turns import TurnState

TOOL = {
    "type": "tool-calculator",
    "toolCallId": "c1",
    "state": "output-available",
    "input": {"expression": "1+1"},
    "output": {"result": 2},
    "providerExecuted": True,
}
TEXT = {"type": "text", "text": "two", "state": "done", "providerMetadata": {"retinue": {"part": "p1"}}}
PARTS = [{"type": "step-start"}, TOOL, {"type": "step-start"}, TEXT]


COMMIT = BatchId(1, 7)


def turn(status: TurnStatus, *, commit: BatchId = COMMIT, ended_by: str | None = "reply") -> TurnState:
    failure = {"error": "interrupted", "message": "It was interrupted."} if status == TurnStatus.FAILED else None
    return TurnState(uuid4(), uuid4(), uuid4(), status, 2, commit, ended_by, failure, False, None)


def bodies(*batches: list[chunks.Chunk]) -> list[bytes]:
    return [frame(said, BatchId(1, n)) for n, said in enumerate(batches, 5)]


def kinds(body: bytes) -> list[str]:
    return [chunk["type"] for chunk in notes.read_chunks(body)]


def test_a_note_ends_nothing_that_a_missing_batch_may_have_ended() -> None:
    first, last = bodies([chunks.start_step(), chunks.text_start("t")], [chunks.text_start("u")])
    said = list(notes.read_chunks(notes.superseded(2, 4, [first, None, last])))
    assert [chunk["type"] for chunk in said] == ["text-end", "finish-step", "data-superseded"]
    assert said[0]["id"] == "u"
    assert said[-1]["data"]["parts"] == ["t", "u"]


def test_a_note_ends_what_is_open_and_names_what_began() -> None:
    body = notes.superseded(
        2,
        4,
        bodies(
            [chunks.start_step(), chunks.reasoning_start("r"), chunks.reasoning_delta("r", "hm")],
            [chunks.reasoning_end("r"), chunks.text_start("t"), chunks.text_delta("t", "so")],
            [chunks.source_url("s", "https://x.test"), chunks.tool_input_start("c", "calculator", ours=True)],
        ),
    )
    assert body.count(b"id: 2.4\n") == 1
    said = list(notes.read_chunks(body))
    assert [chunk["type"] for chunk in said] == ["text-end", "finish-step", "data-superseded"]
    assert said[-1]["data"] == {"epoch": 2, "cut": 4, "parts": ["r", "t", "s", "c"]}
    for chunk in said:
        chunks.check(chunk)


def test_a_note_ends_no_step_that_began_before_the_cut() -> None:
    body = notes.superseded(2, 4, bodies([chunks.tool_output_available("c", 1, ours=True)]))
    assert kinds(body) == ["data-superseded"]
    assert next(iter(notes.read_chunks(body)))["data"]["parts"] == []


def test_a_filled_message_reduces_to_what_is_stored() -> None:
    state = turn(TurnStatus.RUNNING)
    body = notes.filled(state, PARTS)
    assert b"id: 2.7\n" in body
    reducer, order = Reducer(), Order()
    for chunk in notes.read_chunks(body):
        order.add(chunk)
        reducer.apply(chunk)
    assert reducer.parts == PARTS
    assert reducer.message_id == str(state.message_id)


@pytest.mark.parametrize(
    ("status", "last"),
    [(TurnStatus.FINISHED, "finish"), (TurnStatus.STOPPED, "abort"), (TurnStatus.FAILED, "error")],
)
def test_a_closed_stream_says_how_the_turn_ended(status: TurnStatus, last: str) -> None:
    state = turn(status)
    body = notes.closed(state, PARTS, begins=False, repeats=True)
    assert body.endswith(b"id: 2.8\ndata: [DONE]\n\n")
    assert kinds(body)[0] == "tool-output-available"
    assert kinds(body)[-1] == last
    reducer = Reducer()
    for chunk in [*notes.read_chunks(notes.filled(state, PARTS)), *notes.read_chunks(body)]:
        chunks.check(chunk)
        reducer.apply(chunk)
    assert reducer.parts == PARTS
    assert reducer.metadata["retinue"]["status"] == status


def test_a_stream_that_had_nothing_begins_before_it_ends() -> None:
    body = notes.closed(turn(TurnStatus.STOPPED, commit=BatchId(0, 0)), [], begins=True, repeats=False)
    assert kinds(body) == ["start", "message-metadata", "abort"]
    assert body.endswith(b"id: 2.1\ndata: [DONE]\n\n")


def test_a_place_in_line_has_no_id_and_is_not_kept() -> None:
    body = notes.waits(uuid4(), 3)
    assert b"id:" not in body
    (said,) = notes.read_chunks(body)
    chunks.check(said)
    assert said["transient"] is True
    assert said["data"]["position"] == 3
