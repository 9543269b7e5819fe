"""The end batch: whoever ends a turn, a reader gets a whole message and is told how it ended."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from contracts.batches import START, Batch, BatchId, unpack
from contracts.chunks import check
from contracts.reducer import Reducer
from store.turns.endings import (
    NOT_RUN,
    UNKNOWN,
    call_result,
    closing_chunks,
    end_batch,
    foreign_end_batch,
    interrupted_result,
    metadata,
    start_chunk,
)

TURN, MESSAGE = uuid4(), uuid4()
ERROR = {"error": "interrupted", "message": "Please try again."}


def chunks_of(batch: Batch) -> list[dict[str, Any]]:
    lines = [line[6:] for line in batch.body.split(b"\n") if line.startswith(b"data: ")]
    assert lines[-1] == b"[DONE]"
    return [json.loads(line) for line in lines[:-1]]


@pytest.mark.parametrize(
    ("status", "ended_by", "error", "types", "last"),
    [
        ("finished", "reply", None, ["finish"], {"finishReason": "stop"}),
        ("stopped", "user", None, ["message-metadata", "abort"], {"reason": "user"}),
        ("stopped", None, None, ["message-metadata", "abort"], {"reason": "stopped"}),
        ("failed", "interrupted", ERROR, ["message-metadata", "error"], {"errorText": "Please try again."}),
        ("failed", None, None, ["message-metadata", "error"], {"errorText": "The turn failed."}),
    ],
)
def test_each_final_state_is_told_in_the_sdk_s_words_and_in_ours(
    status: str, ended_by: str | None, error: dict[str, Any] | None, types: list[str], last: dict[str, Any]
) -> None:
    said = closing_chunks(TURN, status, ended_by, error)
    assert [chunk["type"] for chunk in said] == types
    for chunk in said:
        check(chunk)
    assert said[-1].items() >= last.items()
    told = next(chunk["messageMetadata"] for chunk in said if "messageMetadata" in chunk)
    assert told == metadata(TURN, status, ended_by, error)


def test_the_finish_reason_is_the_model_s() -> None:
    (chunk,) = closing_chunks(TURN, "finished", "length", finish_reason="length")
    assert chunk["finishReason"] == "length"


def test_metadata_says_no_more_than_is_known() -> None:
    assert metadata(TURN, "running") == {"retinue": {"turn": str(TURN), "status": "running"}}


def test_an_end_batch_is_flagged_and_its_id_stands_on_done() -> None:
    batch = unpack(end_batch(BatchId(3, 9), BatchId(2, 8), closing_chunks(TURN, "finished", "reply")))
    assert (batch.id, batch.cut, batch.is_end) == (BatchId(3, 9), BatchId(2, 8), True)
    assert batch.body.endswith(b"id: 3.9\ndata: [DONE]\n\n")


def test_the_end_of_a_turn_that_said_nothing_is_a_whole_message() -> None:
    batch = unpack(ended(START, []))
    assert batch.id == BatchId(1, 1)
    reducer = Reducer()
    for chunk in chunks_of(batch)[:-1]:
        reducer.apply(chunk)
    assert reducer.message == {
        "id": str(MESSAGE),
        "role": "assistant",
        "parts": [],
        "metadata": metadata(TURN, "failed", "interrupted", ERROR),
    }


def test_the_end_by_another_follows_the_last_commit_and_gives_open_calls_a_result() -> None:
    asked, started = uuid4(), uuid4()
    batch = unpack(ended(BatchId(1, 7), [(asked, "asked"), (started, "started")], epoch=2))
    assert (batch.id, batch.cut) == (BatchId(2, 8), BatchId(1, 7))
    said = chunks_of(batch)
    assert [chunk["type"] for chunk in said] == ["tool-output-error"] * 2 + ["message-metadata", "error"]
    assert [chunk["errorText"] for chunk in said[:2]] == [NOT_RUN, UNKNOWN]
    assert [chunk["toolCallId"] for chunk in said[:2]] == [str(asked), str(started)]


def ended(commit: BatchId, open_calls: list[Any], epoch: int = 1) -> bytes:
    return foreign_end_batch(
        turn_id=TURN,
        message_id=MESSAGE,
        epoch=epoch,
        commit=commit,
        open_calls=open_calls,
        status="failed",
        ended_by="interrupted",
        error=ERROR,
    )


def test_only_a_call_that_may_have_run_has_an_unknown_outcome() -> None:
    assert interrupted_result("asked") == NOT_RUN
    assert interrupted_result("started") == UNKNOWN
    assert "Check before repeating" in UNKNOWN


@pytest.mark.parametrize(("output", "error"), [({"a": 1}, None), (None, None), (None, "broke"), ("", None)])
def test_a_result_is_an_output_unless_there_is_an_error(output: Any, error: str | None) -> None:
    chunk = call_result(TURN, output, error)
    check(chunk)
    assert chunk["providerExecuted"] is True
    assert chunk["type"] == ("tool-output-error" if error else "tool-output-available")
    if error is None:
        assert chunk["output"] == output


def test_the_first_chunk_names_message_and_turn() -> None:
    chunk = start_chunk(TURN, MESSAGE)
    check(chunk)
    assert chunk["messageId"] == str(MESSAGE)
    assert chunk["messageMetadata"]["retinue"] == {"turn": str(TURN), "status": "running"}
