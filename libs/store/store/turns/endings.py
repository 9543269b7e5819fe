"""The end batch: the only way in which a log ends, written by whoever moves a turn to a final state.

It closes what is open, says how the turn ended, and carries `[DONE]`. `finish`, `abort` and `error` are in no other
batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from contracts.batches import END, BatchId, pack
from contracts.frames import frame

Chunk = dict[str, Any]

NOT_RUN = "Not run: the turn ended before this call started."
UNKNOWN = "Interrupted, outcome unknown: it may or may not have taken effect. Check before repeating it."


def metadata(
    turn_id: UUID,
    status: str,
    ended_by: str | None = None,
    error: dict[str, Any] | None = None,
    model: str | None = None,
) -> dict[str, Any]:
    """`message.metadata`, the same from the end of the stream and from the rows; `model` is who was asked last."""
    own: dict[str, Any] = {"turn": str(turn_id), "status": status}
    if ended_by is not None:
        own["ended_by"] = ended_by
    if error is not None:
        own["error"] = error
    if model is not None:
        own["model"] = model
    return {"retinue": own}


def start_chunk(turn_id: UUID, message_id: UUID) -> Chunk:
    return {"type": "start", "messageId": str(message_id), "messageMetadata": metadata(turn_id, "running")}


def closing_chunks(
    turn_id: UUID,
    status: str,
    ended_by: str | None,
    error: dict[str, Any] | None = None,
    finish_reason: str = "stop",
    *,
    model: str | None = None,
) -> list[Chunk]:
    """The last chunks of a turn in the given final state."""
    own = metadata(turn_id, status, ended_by, error, model)
    if status == "finished":
        return [{"type": "finish", "finishReason": finish_reason, "messageMetadata": own}]
    note: Chunk = {"type": "message-metadata", "messageMetadata": own}
    if status == "stopped":
        return [note, {"type": "abort", "reason": ended_by or "stopped"}]
    return [note, {"type": "error", "errorText": (error or {}).get("message", "The turn failed.")}]


def call_result(call_id: UUID, output: Any, error_text: str | None) -> Chunk:
    """How a tool call ended, for a tool that the server ran."""
    if error_text is not None:
        return {
            "type": "tool-output-error",
            "toolCallId": str(call_id),
            "errorText": error_text,
            "providerExecuted": True,
        }
    return {"type": "tool-output-available", "toolCallId": str(call_id), "output": output, "providerExecuted": True}


def interrupted_result(state: str) -> str:
    """What is said of a call that will not end: it never ran, or nobody knows."""
    return UNKNOWN if state == "started" else NOT_RUN


def end_batch(id: BatchId, cut: BatchId, chunks: Iterable[Chunk]) -> bytes:
    return pack(id, cut, frame(chunks, id, done=True), END)


def foreign_end_batch(
    *,
    turn_id: UUID,
    message_id: UUID,
    epoch: int,
    commit: BatchId,
    open_calls: Sequence[tuple[UUID, str]],
    status: str,
    ended_by: str | None,
    error: dict[str, Any] | None,
    model: str | None = None,
) -> bytes:
    """The end by another than the holder: first batch of the new epoch; `start` if nothing counts before it."""
    chunks: list[Chunk] = []
    if commit.number == 0:
        chunks.append(start_chunk(turn_id, message_id))
    chunks += [call_result(call_id, None, interrupted_result(state)) for call_id, state in open_calls]
    chunks += closing_chunks(turn_id, status, ended_by, error, model=model)
    return end_batch(BatchId(epoch, commit.number + 1), commit, chunks)
