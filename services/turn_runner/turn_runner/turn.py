"""The loop of one turn: model, tools, stop, end. Readable top to bottom.

A step is one model call and the tools it asked for. What counts is committed at the points of turns.md, each
conditional on our epoch; between them the log only shows.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from chassis import faults, logs, metrics
from contracts import chunks
from contracts.batches import BatchId
from contracts.chunks import Chunk, FinishReason
from contracts.json_values import clean_text
from contracts.turns import TurnStatus
from llm import Assistant, Message, Model, ModelError, ToolCall, ToolResult, User
from store import Session, turns
from store.repositories import transcripts
from store.turns import AttemptResult, CallRow, Claim, Ending, TurnLost
from store.turns.endings import call_result, closing_chunks, end_batch, interrupted_result
from turn_runner import context
from turn_runner.guards import Guard
from turn_runner.held import Halted, HeldTurn, Workshop
from turn_runner.log import BatchTooLarge
from turn_runner.model_calls import Attempt, ModelCalls, call_rows
from turn_runner.narration import AskedCall, Narration
from turn_runner.tool_use import ToolUse
from turn_runner.tools import offered

log = logs.get(__name__)

_ENDED = metrics.counter("retinue_turns_ended_total", "turns by how they ended", ("status", "ended_by"))

EMPTY_ANSWER_NUDGE = "(Your last answer was empty. Please answer now, in words.)"
_FINISH_REASONS: dict[str, FinishReason] = {"length": "length", "content_filter": "content-filter"}


@dataclass(frozen=True, slots=True)
class Ended:
    """How the loop came to its end."""

    status: TurnStatus
    ended_by: str
    finish_reason: FinishReason = "stop"
    error: dict[str, Any] | None = None


class Turn:
    """One claimed turn. `run` takes it to its end, or drops it without a word when it is no longer ours."""

    def __init__(self, workshop: Workshop, claim: Claim) -> None:
        self._held = HeldTurn(workshop, claim)
        self._model_calls = ModelCalls(self._held)
        self._tool_use = ToolUse(self._held)
        self._last_text = ""
        self._task: asyncio.Task[None] | None = None
        self._is_ending = False

    # What the heartbeat and the handlers see

    @property
    def turn_id(self) -> UUID:
        return self._held.turn_id

    @property
    def epoch(self) -> int:
        return self._held.epoch

    @property
    def is_changing_epoch(self) -> bool:
        return self._held.is_changing_epoch

    def ask_to_stop(self) -> None:
        self._held.halt("user")

    def shut_down(self) -> None:
        """The process ends: whatever is unfinished ends here, visibly."""
        self._held.halt("shutdown")

    def lose(self) -> None:
        """Another epoch writes this turn now, or a heartbeat has crossed our own end, which finds out by itself."""
        self._held.is_lost = True
        if self._task is not None and not self._is_ending:
            self._task.cancel()

    # The loop

    async def run(self) -> None:
        self._task = asyncio.current_task()
        try:
            await self._end(await self._outcome())
        except TurnLost:
            log.info("turn dropped", turn_id=str(self.turn_id), epoch=self.epoch)
        except asyncio.CancelledError:
            if not self._held.is_lost:
                raise
            log.info("turn lost", turn_id=str(self.turn_id), epoch=self.epoch)
        finally:
            self._held.log.close()

    async def _outcome(self) -> Ended:
        try:
            return await self._answer()
        except Halted:
            if self._held.halted_by == "user":
                return Ended(TurnStatus.STOPPED, "user")
            return _failed(
                "interrupted", "The answer was interrupted because the system was stopped. Please try again."
            )
        except ModelError as wrong:
            log.info("model call failed", code=wrong.code, detail=wrong.detail, status=wrong.status)
            return _failed(wrong.code, wrong.text)
        except BatchTooLarge as wrong:
            await self._model_calls.give_up("too_large")  # what was to be in that batch is nowhere: it cannot be closed
            return _failed("too_large", f"A piece of this answer is too large to send: {wrong}.")
        except TurnLost:
            raise
        except Exception:
            log.exception("turn broke", turn_id=str(self.turn_id))
            return _failed("internal", "Something in the system broke while answering. Please try again.")

    async def _answer(self) -> Ended:
        held = self._held
        await held.begin()
        agent, past, model = await held.commit(self._prepare)
        tools = offered(held.claim.channel)
        messages = context.opening(agent, tools, past)
        guard = Guard()
        answer_now = asked_again = False
        while True:
            is_last = held.steps >= agent.max_steps - 1
            offer = [] if is_last or answer_now else tools
            narration = await self._model_calls.call(model, messages, offer)
            text = "".join(narration.text)
            self._last_text = text or self._last_text
            if narration.calls and offer:
                await self._model_calls.commit(narration)
                results = await self._tool_use.run(narration.calls, offer)
                verdict, texts = guard.look(list(zip(narration.calls, results, strict=True)))
                answer_now = verdict == "answer now"
                messages += _exchange(text, narration.calls, texts)
                continue
            if not text and not asked_again and not is_last:
                answer_now = asked_again = True
                await self._model_calls.commit(narration)
                messages.append(User(EMPTY_ANSWER_NUDGE))
                continue
            if not text:
                return _failed("empty_answer", "The model gave no answer. Try again, or ask in other words.")
            return _finished(narration, at_limit=is_last and bool(tools), in_circles=answer_now and not asked_again)

    async def _prepare(self, session: Session) -> tuple[transcripts.AgentProfile, list[transcripts.PastMessage], Model]:
        """What the model will see, and the attempt of its first call: one transaction, because somebody waits."""
        claim = self._held.claim
        agent = await transcripts.agent(session, claim.agent_id)
        model = self._held.work.models.resolve(claim.model or agent.model)
        past = await transcripts.transcript(session, claim.thread_id, claim.message_id)
        await self._model_calls.open_first(session, model)
        return agent, past, model

    async def _end(self, ended: Ended) -> None:
        """The end: close what is open, then one transaction that also holds the end batch."""
        held = self._held
        attempt, self._model_calls.open = self._model_calls.open, None
        new_calls = await self._close_parts(attempt)
        commit = await held.log.settle()
        faults.reached("before_commit")
        closed = [(id, interrupted_result(state)) for id, state in held.open_calls.items()]
        closed += [(call.id, interrupted_result("asked")) for call in new_calls]
        ending = Ending(
            status=ended.status,
            ended_by=ended.ended_by,
            commit=commit,
            end_batch=self._end_batch(ended, commit, closed),
            parts=held.new_parts(),
            calls=new_calls,
            closed_calls=closed,
            attempt=None if attempt is None else _last_result(attempt, ended),
            error=ended.error,
            preview=_preview(self._last_text or "".join(attempt.narration.text if attempt else ())),
            limits=held.work.limits,
        )
        self._is_ending = True
        messages = await held.commit(lambda session: turns.end(session, held.claim, ending))
        faults.reached("before_end_batch")
        held.work.relay.after_commit(messages)
        _ENDED.labels(status=ended.status.value, ended_by=ended.ended_by).inc()
        log.info("turn ended", turn_id=str(self.turn_id), status=ended.status.value, ended_by=ended.ended_by)

    async def _close_parts(self, attempt: Attempt | None) -> list[CallRow]:
        """Ends the part that was being written, and completes calls that were still being asked for."""
        if attempt is None:
            return []
        narration = attempt.narration
        told: list[Chunk] = []
        narration.close(told)
        if narration.finish is None:
            for call in narration.calls:
                told.append(chunks.tool_input_available(str(call.id), call.name, call.input, ours=True))
        await self._held.log.write(told)
        return call_rows(narration, attempt.step)

    def _end_batch(self, ended: Ended, commit: BatchId, closed: list[tuple[UUID, str]]) -> bytes:
        held = self._held
        last: list[Chunk] = [call_result(id, None, text) for id, text in closed]
        if len(held.log.reducer):
            last.append(chunks.finish_step())
        last += closing_chunks(self.turn_id, ended.status.value, ended.ended_by, ended.error, ended.finish_reason)
        return end_batch(BatchId(held.epoch, commit.number + 1), held.log.cut, last)


def _finished(narration: Narration, *, at_limit: bool, in_circles: bool) -> Ended:
    reason = narration.finish.reason if narration.finish else "other"
    if reason == "error":
        return _failed("model_error", "The model reported an error in the middle of its answer.")
    if reason == "length":
        return Ended(TurnStatus.FINISHED, "length", "length")
    ended_by = "step_limit" if at_limit or in_circles else "reply"
    return Ended(TurnStatus.FINISHED, ended_by, _FINISH_REASONS.get(reason, "stop"))


def _failed(code: str, message: str) -> Ended:
    return Ended(TurnStatus.FAILED, code, "error", {"error": code, "message": message})


def _last_result(attempt: Attempt, ended: Ended) -> AttemptResult:
    finish = attempt.narration.finish
    if finish is not None:
        return attempt.result("done", finish.reason)
    if ended.status is TurnStatus.STOPPED or ended.ended_by == "interrupted":
        return attempt.result("interrupted", ended.ended_by)
    return attempt.result("failed", ended.ended_by)


def _exchange(text: str, calls: list[AskedCall], results: list[str]) -> list[Message]:
    asked = tuple(ToolCall(call.provider_call_id, call.name, call.arguments) for call in calls)
    answers = [ToolResult(call.provider_call_id, result) for call, result in zip(calls, results, strict=True)]
    return [Assistant(text, asked), *answers]


def _preview(text: str, most: int = 140) -> str | None:
    line = " ".join(clean_text(text[: most * 4]).split())
    return line[:most] or None
