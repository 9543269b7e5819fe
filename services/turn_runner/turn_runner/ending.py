"""How a turn ends in its holder's hands: why, what is still to be closed and stored, and the last batch.

Everything that the end transaction needs is made ready here, so that it is one transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from chassis import faults
from contracts import chunks
from contracts.batches import BatchId
from contracts.chunks import Chunk, FinishReason
from contracts.json_values import clean_text
from contracts.turns import TurnStatus
from store.turns import AttemptResult, CallRow, Ending
from store.turns.endings import call_result, closing_chunks, end_batch, interrupted_result
from turn_runner.held import HeldTurn
from turn_runner.model_calls import Attempt, call_rows

_FINISH_REASONS: dict[str, FinishReason] = {"length": "length", "content_filter": "content-filter"}


@dataclass(frozen=True, slots=True)
class Ended:
    """How the loop came to its end."""

    status: TurnStatus
    ended_by: str
    finish_reason: FinishReason = "stop"
    error: dict[str, Any] | None = None


def finished(reason: str, *, at_limit: bool = False, in_circles: bool = False) -> Ended:
    """The model has answered; `reason` is its own."""
    if reason == "error":
        return failed("model_error", "The model reported an error in the middle of its answer.")
    if reason == "length":
        return Ended(TurnStatus.FINISHED, "length", "length")
    ended_by = "step_limit" if at_limit or in_circles else "reply"
    return Ended(TurnStatus.FINISHED, ended_by, _FINISH_REASONS.get(reason, "stop"))


def failed(code: str, message: str) -> Ended:
    return Ended(TurnStatus.FAILED, code, "error", {"error": code, "message": message})


async def prepared(held: HeldTurn, ended: Ended, attempt: Attempt | None, last_text: str) -> Ending:
    """Closes what is open in the log, waits until the log has it all, and says what is to be stored.

    `attempt` is the model call that is not committed yet, `last_text` what was last said before it.
    """
    new_calls = await _close_parts(held, attempt)
    commit = await held.log.settle()
    faults.reached("before_commit")
    closed = [(id, interrupted_result(state)) for id, state in held.open_calls.items()]
    closed += [(call.id, interrupted_result("asked")) for call in new_calls if not call.is_hosted]
    return Ending(
        status=ended.status,
        ended_by=ended.ended_by,
        commit=commit,
        end_batch=_end_batch(held, ended, commit, closed),
        parts=held.new_parts(),
        calls=new_calls,
        closed_calls=closed,
        attempt=None if attempt is None else _last_result(attempt, ended),
        error=ended.error,
        preview=_preview(last_text or (attempt.narration.text.text() if attempt else "")),
        limits=held.work.limits,
    )


async def _close_parts(held: HeldTurn, attempt: Attempt | None) -> list[CallRow]:
    """Ends the part that was being written, and completes calls that were still being asked for."""
    if attempt is None:
        return []
    narration = attempt.narration
    told: list[Chunk] = []
    narration.close(told)
    narration.close_searches(told)
    if narration.finish is None:
        for call in narration.calls:
            told.append(chunks.tool_input_available(str(call.id), call.name, call.input, ours=True))
    await held.log.write(told)
    return call_rows(narration, attempt.step)


def _end_batch(held: HeldTurn, ended: Ended, commit: BatchId, closed: list[tuple[UUID, str]]) -> bytes:
    last: list[Chunk] = [call_result(id, None, text) for id, text in closed]
    if len(held.log.reducer):
        last.append(chunks.finish_step())
    last += closing_chunks(
        held.turn_id, ended.status.value, ended.ended_by, ended.error, ended.finish_reason, model=held.model
    )
    return end_batch(BatchId(held.epoch, commit.number + 1), held.log.cut, last)


def _last_result(attempt: Attempt, ended: Ended) -> AttemptResult:
    finish = attempt.narration.finish
    if finish is not None:
        return attempt.result("done", finish.reason)
    if ended.status is TurnStatus.STOPPED:
        return attempt.result("interrupted", ended.ended_by)
    return attempt.result("failed", attempt.failed_with or ended.ended_by)


def _preview(text: str, most: int = 140) -> str | None:
    line = " ".join(clean_text(text[: most * 4]).split())
    return line[:most] or None
