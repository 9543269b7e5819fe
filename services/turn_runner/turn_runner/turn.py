"""The loop of one turn: model, tools, stop, end. Readable top to bottom.

A step is one model call and the tools it asked for. What counts is committed at the points of turns.md, each
conditional on our epoch; between them the log only shows.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar
from uuid import UUID

from chassis import logs, metrics
from chassis.relay import OutboxRelay
from contracts import chunks
from contracts.batches import BatchId
from contracts.chunks import Chunk, FinishReason
from contracts.ids import uuid7
from contracts.turns import TurnStatus
from llm import Assistant, Message, Model, ModelError, Models, Request, Tool, ToolCall, ToolResult, User
from store import Session, Store, StoreAway, turns
from store.repositories import transcripts
from store.turns import AttemptResult, CallRow, Claim, Ending, PartRow, TurnLost
from store.turns.endings import call_result, closing_chunks, end_batch, interrupted_result, start_chunk
from turn_runner import context, execution
from turn_runner.execution import Prepared, Result
from turn_runner.guards import Guard
from turn_runner.lease import Lease
from turn_runner.log import BatchTooLarge, Logs, TurnLog
from turn_runner.narration import AskedCall, Narration
from turn_runner.settings import RunnerSettings
from turn_runner.tools import TOOLS, offered
from turn_runner.tools import Tool as OurTool

log = logs.get(__name__)
T = TypeVar("T")

_ENDED = metrics.counter("retinue_turns_ended_total", "turns by how they ended", ("status", "ended_by"))
_FIRST_TOKEN = metrics.histogram("retinue_model_first_token_seconds", "from the model call to its first token")
_MODEL_CALLS = metrics.counter("retinue_model_calls_total", "model calls by outcome", ("outcome",))

Halt = Literal["user", "shutdown"]

EMPTY_ANSWER_NUDGE = "(Your last answer was empty. Please answer now, in words.)"
_FINISH_REASONS: dict[str, FinishReason] = {"length": "length", "content_filter": "content-filter"}


class Halted(Exception):
    """Somebody asked the turn to stop, or the process is going down."""


@dataclass(frozen=True)
class Workshop:
    """What every turn of this runner works with."""

    settings: RunnerSettings
    store: Store
    models: Models
    lease: Lease
    logs: Logs
    relay: OutboxRelay
    limits: turns.Limits


@dataclass(frozen=True, slots=True)
class Ended:
    """How the loop came to its end."""

    status: TurnStatus
    ended_by: str
    finish_reason: FinishReason = "stop"
    error: dict[str, Any] | None = None


@dataclass(slots=True)
class _Attempt:
    """The model call under way."""

    id: UUID
    step: int
    model: str
    narration: Narration
    input_characters: int
    begun: float = 0.0
    first_token: float | None = None

    def result(self, state: str, outcome: str) -> AttemptResult:
        """The provider's count where there is one, else four characters a token, marked as an estimate."""
        usage, served = self.narration.usage, self.narration.served
        first = None if self.first_token is None else round((self.first_token - self.begun) * 1000)
        return AttemptResult(
            id=self.id,
            state=state,
            outcome=outcome,
            model_served=served.model if served else None,
            input_tokens=usage.input if usage else self.input_characters // 4,
            cached_tokens=usage.cached if usage else None,
            output_tokens=usage.output if usage else self.narration.characters // 4,
            reasoning_tokens=usage.reasoning if usage else None,
            cost_micros=usage.cost if usage else None,
            is_estimated=usage is None,
            first_token_ms=first,
        )


class Turn:
    """One claimed turn. `run` takes it to its end, or drops it without a word when it is no longer ours."""

    def __init__(self, workshop: Workshop, claim: Claim) -> None:
        self._work = workshop
        self._claim = claim
        self._log: TurnLog = workshop.logs.open(claim.turn_id, claim.message_id, claim.epoch, claim.commit)
        self._halt = asyncio.Event()
        self._halted_by: Halt = "user"
        self._is_lost = False
        self._task: asyncio.Task[None] | None = None
        self._steps = claim.steps
        self._stored = 0
        """Parts of the message that are committed."""
        self._attempt: _Attempt | None = None
        self._open_calls: dict[UUID, str] = {}
        """Calls that have a row and no result, with their state."""
        self._results = asyncio.Lock()
        self._last_text = ""
        self.is_changing_epoch = False

    # What the heartbeat and the handlers see

    @property
    def turn_id(self) -> UUID:
        return self._claim.turn_id

    @property
    def epoch(self) -> int:
        return self._claim.epoch

    def ask_to_stop(self) -> None:
        self._halt.set()

    def shut_down(self) -> None:
        """The process ends: whatever is unfinished ends here, visibly."""
        if not self._halt.is_set():
            self._halted_by = "shutdown"
            self._halt.set()

    def lose(self) -> None:
        """Another epoch writes this turn now."""
        self._is_lost = True
        if self._task is not None:
            self._task.cancel()

    # The loop

    async def run(self) -> None:
        self._task = asyncio.current_task()
        try:
            await self._end(await self._outcome())
        except TurnLost:
            log.info("turn dropped", turn_id=str(self.turn_id), epoch=self.epoch)
        except asyncio.CancelledError:
            if not self._is_lost:
                raise
            log.info("turn lost", turn_id=str(self.turn_id), epoch=self.epoch)
        finally:
            self._log.close()

    async def _outcome(self) -> Ended:
        try:
            return await self._answer()
        except Halted:
            if self._halted_by == "user":
                return Ended(TurnStatus.STOPPED, "user")
            return _failed(
                "interrupted", "The answer was interrupted because the system was stopped. Please try again."
            )
        except ModelError as wrong:
            log.info("model call failed", code=wrong.code, detail=wrong.detail, status=wrong.status)
            return _failed(wrong.code, wrong.text)
        except BatchTooLarge as wrong:
            return _failed("too_large", f"A piece of this answer is too large to send: {wrong}.")
        except (TurnLost, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("turn broke", turn_id=str(self.turn_id))
            return _failed("internal", "Something in the system broke while answering. Please try again.")

    async def _answer(self) -> Ended:
        await self._begin()
        agent, past = await self._load()
        model = self._work.models.resolve(self._claim.model or agent.model)
        tools = offered(self._claim.channel)
        messages = context.opening(agent, tools, past)
        guard = Guard()
        answer_now = asked_again = False
        while True:
            is_last = self._steps >= agent.max_steps - 1
            offer = [] if is_last or answer_now else tools
            narration = await self._call_model(model, messages, offer)
            text = "".join(narration.text)
            self._last_text = text or self._last_text
            if narration.calls and offer:
                results = await self._use_tools(narration, offer)
                verdict, texts = guard.look(list(zip(narration.calls, results, strict=True)))
                answer_now = verdict == "answer now"
                messages += _exchange(text, narration.calls, texts)
                continue
            if not text and not asked_again and not is_last:
                answer_now = asked_again = True
                await self._commit_step(narration)
                messages.append(User(EMPTY_ANSWER_NUDGE))
                continue
            if not text:
                return _failed("empty_answer", "The model gave no answer. Try again, or ask in other words.")
            return _finished(narration, is_last and bool(tools), answer_now and not asked_again)

    async def _begin(self) -> None:
        if self._log.cut.number == 0:
            await self._log.write_batch([start_chunk(self.turn_id, self._claim.message_id)])

    async def _load(self) -> tuple[transcripts.AgentProfile, list[transcripts.PastMessage]]:
        async def load(session: Session) -> tuple[transcripts.AgentProfile, list[transcripts.PastMessage]]:
            agent = await transcripts.agent(session, self._claim.agent_id)
            return agent, await transcripts.transcript(session, self._claim.thread_id, self._claim.message_id)

        return await self._commit(load)

    # The model

    async def _call_model(self, model: Model, messages: list[Message], offer: list[OurTool[Any]]) -> Narration:
        """One step's model call, made again after failures that may pass. The runner alone owns retries."""
        request = Request(tuple(messages), tuple(Tool(t.name, t.description, t.schema) for t in offer))
        tries = 0
        while True:
            tries += 1
            attempt = await self._open_attempt(model, request, tries)
            try:
                await self._interruptible(self._listen(model, request, attempt))
                _MODEL_CALLS.labels(outcome="done").inc()
                return attempt.narration
            except ModelError as wrong:
                _MODEL_CALLS.labels(outcome=wrong.code).inc()
                pause = self._pause(wrong, tries)
                if pause is None:
                    raise
                await self._give_up(attempt, wrong)
                await self._interruptible(asyncio.sleep(pause))

    async def _open_attempt(self, model: Model, request: Request, number: int) -> _Attempt:
        """(o) The attempt's row comes before the call, so that no call is without one."""
        narration = Narration(f"{self.epoch}.{self._steps}.{number}", follows_step=self._stored > 0)
        attempt = _Attempt(uuid7(), self._steps, model.id, narration, _characters(request))

        async def open(session: Session) -> None:
            await turns.open_attempt(session, self._claim, attempt.id, step=attempt.step, number=number, model=model.id)

        await self._commit(open)
        self._attempt = attempt
        return attempt

    async def _listen(self, model: Model, request: Request, attempt: _Attempt) -> None:
        attempt.begun = time.monotonic()
        narration = attempt.narration
        async with model.call(request) as call:
            async for events in call.stream():
                told = narration.tell(events)
                if told:
                    if attempt.first_token is None:
                        attempt.first_token = time.monotonic()
                        _FIRST_TOKEN.observe(attempt.first_token - attempt.begun)
                    await self._log.write(told)

    def _pause(self, wrong: ModelError, tries: int) -> float | None:
        """Seconds until the call is made again, or None if it is not."""
        settings = self._work.settings
        if not wrong.retryable or tries > settings.model_retries:
            return None
        own = min(settings.model_retry_pause * 2 ** (tries - 1), settings.model_retry_longest)
        if wrong.retry_after is not None:
            return wrong.retry_after if wrong.retry_after <= settings.model_retry_longest else None
        return own * random.uniform(0.8, 1.2)  # noqa: S311 - jitter, not a secret

    async def _give_up(self, attempt: _Attempt, wrong: ModelError) -> None:
        """Settles a failed attempt; what it already said is superseded by a cut of our own."""
        result = attempt.result("failed", wrong.code)
        await self._commit(lambda session: turns.settle_attempt(session, self._claim, result))
        self._attempt = None
        if not attempt.narration.has_begun:
            return
        self.is_changing_epoch = True
        try:
            epoch = await self._commit(lambda session: turns.raise_epoch(session, self._claim))
            commit = await self._commit(self._read_commit)
            self._claim = replace(self._claim, epoch=epoch)
        finally:
            self.is_changing_epoch = False
        self._log.supersede(epoch, commit, self._stored)
        await self._begin()

    async def _read_commit(self, session: Session) -> BatchId:
        state = await turns.state(session, self.turn_id)
        if state is None:
            raise TurnLost
        return state.commit

    # Tools

    async def _use_tools(self, narration: Narration, offer: list[OurTool[Any]]) -> list[Result]:
        """Runs a step's calls side by side; their results are shown and committed one after the other."""
        await self._commit_step(narration)
        names = {tool.name for tool in offer}
        outcomes = await asyncio.gather(
            *(self._use_tool(call, names) for call in narration.calls), return_exceptions=True
        )
        results: list[Result] = []
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
            results.append(outcome)
        return results

    async def _use_tool(self, call: AskedCall, names: set[str]) -> Result:
        prepared = execution.prepare(call, names)
        result = prepared if isinstance(prepared, Result) else await self._start_tool(call, prepared)
        async with self._results:
            await self._log.write([call_result(call.id, result.output, result.error_text)])
            commit = await self._log.settle()

            async def finish(session: Session) -> None:
                await turns.finish_call(
                    session,
                    self._claim,
                    commit,
                    steps=self._steps,
                    call_id=call.id,
                    output=result.output,
                    error_text=result.error_text,
                )

            await self._commit(finish)
        del self._open_calls[call.id]
        return result

    async def _start_tool(self, call: AskedCall, prepared: Prepared) -> Result:
        if self._halt.is_set():
            raise Halted
        if not prepared.tool.is_idempotent:
            if not await self._commit(lambda session: turns.start_call(session, self._claim, call.id)):
                self._halt.set()
                raise Halted
            self._open_calls[call.id] = "started"
        await self._work.lease.good()  # one more look at the clock: a runner that slept starts nothing
        if self._is_lost:
            raise TurnLost
        return await self._interruptible(execution.run(prepared, most_bytes=self._work.settings.tool_output_bytes))

    # Commit points

    async def _commit_step(self, narration: Narration) -> None:
        """(a) The model call has ended."""
        attempt = self._attempt
        assert attempt is not None
        outcome = narration.finish.reason if narration.finish else "other"
        result = attempt.result("done", outcome)
        commit = await self._log.settle()
        parts = self._new_parts()
        calls = [_call_row(call, attempt.step) for call in narration.calls]
        if not narration.has_begun:  # nothing was said, so there is no batch to name
            await self._commit(lambda session: turns.settle_attempt(session, self._claim, result))
        else:

            async def commit_all(session: Session) -> None:
                await turns.commit_model_call(
                    session,
                    self._claim,
                    commit,
                    steps=self._steps + 1,
                    parts=parts,
                    calls=calls,
                    attempt=result,
                )

            await self._commit(commit_all)
        self._attempt = None
        self._stored += len(parts)
        self._steps += 1
        self._open_calls |= {call.id: "asked" for call in calls}

    async def _end(self, ended: Ended) -> None:
        """The end: close what is open, then one transaction that also holds the end batch."""
        attempt, self._attempt = self._attempt, None
        new_calls = await self._close_parts(attempt)
        commit = await self._log.settle()
        parts = self._new_parts()
        closed = [(id, interrupted_result(state)) for id, state in self._open_calls.items()]
        closed += [(call.id, interrupted_result("asked")) for call in new_calls]
        last: list[Chunk] = [call_result(id, None, text) for id, text in closed]
        if len(self._log.reducer):
            last.append(chunks.finish_step())
        last += closing_chunks(self.turn_id, ended.status.value, ended.ended_by, ended.error, ended.finish_reason)
        ending = Ending(
            status=ended.status,
            ended_by=ended.ended_by,
            commit=commit,
            end_batch=end_batch(BatchId(self.epoch, commit.number + 1), self._log.cut, last),
            parts=parts,
            calls=new_calls,
            closed_calls=closed,
            attempt=None if attempt is None else _last_result(attempt, ended),
            error=ended.error,
            preview=_preview(self._last_text or "".join(attempt.narration.text if attempt else ())),
            limits=self._work.limits,
        )
        messages = await self._commit(lambda session: turns.end(session, self._claim, ending))
        self._work.relay.after_commit(messages)
        _ENDED.labels(status=ended.status.value, ended_by=ended.ended_by).inc()
        log.info("turn ended", turn_id=str(self.turn_id), status=ended.status.value, ended_by=ended.ended_by)

    async def _close_parts(self, attempt: _Attempt | None) -> list[CallRow]:
        """Ends the part that was being written, and completes calls that were still being asked for."""
        if attempt is None:
            return []
        narration = attempt.narration
        told: list[Chunk] = []
        narration.close(told)
        if narration.finish is None:
            for call in narration.calls:
                told.append(chunks.tool_input_available(str(call.id), call.name, call.input, ours=True))
        await self._log.write(told)
        return [_call_row(call, attempt.step) for call in narration.calls]

    def _new_parts(self) -> list[PartRow]:
        rows: list[PartRow] = []
        for ordinal, part in enumerate(self._log.reducer.parts[self._stored :], self._stored):
            if turns.is_tool(part):
                rows.append(PartRow(ordinal, self._steps, "tool", turns.fixed_of(part), UUID(part["toolCallId"])))
            else:
                rows.append(PartRow(ordinal, self._steps, part["type"], part))
        return rows

    async def _commit(self, act: Callable[[Session], Awaitable[T]]) -> T:
        """One transaction as the turn's user, only under a good lease; a database that is away is waited for.

        Every act may be tried again as it is (`store.turns.commits`).
        """
        while True:
            await self._work.lease.good()
            if self._is_lost:
                raise TurnLost
            try:
                async with self._work.store.session(self._claim.user_id) as session:
                    return await act(session)
            except StoreAway as away:
                log.warning("commit waits", turn_id=str(self.turn_id), reason=str(away))
                await self._work.lease.next_beat()

    async def _interruptible(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits `work`, but drops it at once when the turn is halted."""
        task = asyncio.ensure_future(work)
        halted = asyncio.ensure_future(self._halt.wait())
        try:
            await asyncio.wait({task, halted}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Halted
            return task.result()
        finally:
            halted.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})  # so that the model's connection is closed before anything else is said


def _finished(narration: Narration, at_limit: bool, in_circles: bool) -> Ended:
    reason = narration.finish.reason if narration.finish else "other"
    if reason == "error":
        return _failed("model_error", "The model reported an error in the middle of its answer.")
    if reason == "length":
        return Ended(TurnStatus.FINISHED, "length", "length")
    ended_by = "step_limit" if at_limit or in_circles else "reply"
    return Ended(TurnStatus.FINISHED, ended_by, _FINISH_REASONS.get(reason, "stop"))


def _failed(code: str, message: str) -> Ended:
    return Ended(TurnStatus.FAILED, code, "error", {"error": code, "message": message})


def _last_result(attempt: _Attempt, ended: Ended) -> AttemptResult:
    finish = attempt.narration.finish
    if finish is not None:
        return attempt.result("done", finish.reason)
    if ended.status is TurnStatus.STOPPED or ended.ended_by == "interrupted":
        return attempt.result("interrupted", ended.ended_by)
    return attempt.result("failed", ended.ended_by)


def _call_row(call: AskedCall, step: int) -> CallRow:
    tool = TOOLS.get(call.name)
    return CallRow(
        id=call.id,
        step=step,
        name=call.name,
        provider_call_id=call.provider_call_id,
        input=call.input,
        is_idempotent=tool.is_idempotent if tool else False,
    )


def _exchange(text: str, calls: list[AskedCall], results: list[str]) -> list[Message]:
    asked = tuple(ToolCall(call.provider_call_id, call.name, call.arguments) for call in calls)
    answers = [ToolResult(call.provider_call_id, result) for call, result in zip(calls, results, strict=True)]
    return [Assistant(text, asked), *answers]


def _characters(request: Request) -> int:
    """A rough size of the prompt, for estimates."""
    total = sum(len(tool.description) + 200 for tool in request.tools)
    for message in request.messages:
        total += len(message.text)
        if isinstance(message, Assistant):
            total += sum(len(call.arguments) for call in message.calls)
    return total


def _preview(text: str, most: int = 140) -> str | None:
    line = " ".join(text.split())
    return line[:most] or None
