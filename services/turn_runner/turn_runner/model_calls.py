"""One step's model call: its attempt in the ledger, its stream into the log, and another try where that may help.

The runner alone owns retries. A failure before the first token is a pause and a new attempt; after it the text so
far is superseded first.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from chassis import faults, metrics
from contracts.ids import uuid7
from llm import Assistant, Message, Model, ModelError, Request, Tool
from store import Session, turns
from store.turns import AttemptResult, CallRow
from turn_runner.held import HeldTurn
from turn_runner.narration import AskedCall, Narration
from turn_runner.tools import TOOLS
from turn_runner.tools import Tool as OurTool

_FIRST_TOKEN = metrics.histogram("retinue_model_first_token_seconds", "from the model call to its first token")
_MODEL_CALLS = metrics.counter("retinue_model_calls_total", "model calls by outcome", ("outcome",))


@dataclass(slots=True)
class Attempt:
    """One model call as the provider sees it."""

    id: UUID
    step: int
    number: int
    narration: Narration
    input_characters: int = 0
    begun: float = 0.0
    first_token: float | None = None

    @property
    def estimated_input(self) -> int:
        """Four characters a token."""
        return self.input_characters // 4

    def result(self, state: str, outcome: str) -> AttemptResult:
        """The provider's count where there is one, else four characters a token, marked as an estimate."""
        usage, served = self.narration.usage, self.narration.served
        first = None if self.first_token is None else round((self.first_token - self.begun) * 1000)
        return AttemptResult(
            id=self.id,
            state=state,
            outcome=outcome,
            model_served=served.model if served else None,
            input_tokens=usage.input if usage else self.estimated_input,
            cached_tokens=usage.cached if usage else None,
            output_tokens=usage.output if usage else self.narration.characters // 4,
            reasoning_tokens=usage.reasoning if usage else None,
            cost_micros=usage.cost if usage else None,
            is_estimated=usage is None,
            first_token_ms=first,
        )


class ModelCalls:
    """The model calls of one turn. `open` is the attempt whose outcome is not committed yet."""

    def __init__(self, held: HeldTurn) -> None:
        self.open: Attempt | None = None
        self._held = held
        self._first: Attempt | None = None

    async def open_first(
        self, session: Session, model: Model, messages: list[Message], offer: list[OurTool[Any]]
    ) -> None:
        """Opens the attempt of the first call in a transaction that is under way; safe to repeat in another."""
        if self._first is None:
            self.open = self._first = self._attempt(1, _characters(_request(messages, offer)))
        await self._write(session, self._first, model)

    async def call(self, model: Model, messages: list[Message], offer: list[OurTool[Any]]) -> Narration:
        """Raises `ModelError` when trying again will not help, or has not; `HandOver` before a call."""
        request = _request(messages, offer)
        tries = 0
        while True:
            tries += 1
            self._held.commit_point()
            attempt = await self._open(model, tries, _characters(request))
            try:
                await self._held.interruptible(self._listen(model, request, attempt))
                _MODEL_CALLS.labels(outcome="done").inc()
                return attempt.narration
            except ModelError as wrong:
                _MODEL_CALLS.labels(outcome=wrong.code).inc()
                pause = self._pause(wrong, tries)
                if pause is None:
                    raise
                await self.give_up(wrong.code)
                await self._held.rest(pause)

    async def commit(self, narration: Narration) -> None:
        """(a) The model call has ended: its parts, the calls as asked, its usage, the number of its last batch."""
        held, attempt = self._held, self.open
        assert attempt is not None
        outcome = narration.finish.reason if narration.finish else "other"
        result = attempt.result("done", outcome)
        commit = await held.log.settle()
        faults.reached("before_commit")
        parts = held.new_parts()
        calls = call_rows(narration, attempt.step)
        if not narration.has_begun:  # nothing was said, so there is no batch to name
            await held.commit(lambda session: turns.settle_attempt(session, held.claim, result))
        else:

            async def commit_all(session: Session) -> None:
                await turns.commit_model_call(
                    session, held.claim, commit, steps=held.steps + 1, parts=parts, calls=calls, attempt=result
                )

            await held.commit(commit_all)
        self.open = None
        held.stored += len(parts)
        held.steps += 1
        held.open_calls |= {call.id: "asked" for call in calls}

    async def _open(self, model: Model, number: int, characters: int) -> Attempt:
        """(o) The attempt's row comes before the call, so that no call is without one."""
        attempt, self._first = self._first, None
        if attempt is None:
            made = attempt = self._attempt(number, characters)
            await self._held.commit(lambda session: self._write(session, made, model))
        self.open = attempt
        return attempt

    def _attempt(self, number: int, characters: int) -> Attempt:
        held = self._held
        narration = Narration(f"{held.epoch}.{held.steps}.{number}", follows_step=held.stored > 0)
        return Attempt(uuid7(), held.steps, number, narration, characters)

    async def _write(self, session: Session, attempt: Attempt, model: Model) -> None:
        await turns.open_attempt(
            session,
            self._held.claim,
            attempt.id,
            step=attempt.step,
            number=attempt.number,
            model=model.id,
            input_tokens=attempt.estimated_input,
        )

    async def _listen(self, model: Model, request: Request, attempt: Attempt) -> None:
        attempt.begun = time.monotonic()
        narration, log = attempt.narration, self._held.log
        async with model.call(request) as call:
            async for events in call.stream():
                told = narration.tell(events)
                if told:
                    if attempt.first_token is None:
                        faults.reached("before_first_chunk")
                        attempt.first_token = time.monotonic()
                        _FIRST_TOKEN.observe(attempt.first_token - attempt.begun)
                    await log.write(told)
                    faults.reached("mid_text")

    def _pause(self, wrong: ModelError, tries: int) -> float | None:
        """Seconds until the call is made again, or None if it is not."""
        settings = self._held.work.settings
        if not wrong.retryable or tries > settings.model_retries:
            return None
        if wrong.retry_after is not None:
            return wrong.retry_after if wrong.retry_after <= settings.model_retry_longest else None
        own = min(settings.model_retry_pause * 2 ** (tries - 1), settings.model_retry_longest)
        return own * random.uniform(0.8, 1.2)  # noqa: S311 - jitter, not a secret

    async def give_up(self, outcome: str) -> None:
        """Settles the open attempt, if there is one, as failed; what it already said is superseded."""
        held, attempt = self._held, self.open
        if attempt is None:
            return
        result = attempt.result("failed", outcome)
        await held.commit(lambda session: turns.settle_attempt(session, held.claim, result))
        self.open = None
        if attempt.narration.has_begun:
            await held.supersede()


def call_rows(narration: Narration, step: int) -> list[CallRow]:
    return [_call_row(call, step) for call in narration.calls]


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


def _request(messages: list[Message], offer: list[OurTool[Any]]) -> Request:
    return Request(tuple(messages), tuple(Tool(tool.name, tool.description, tool.schema) for tool in offer))


def _characters(request: Request) -> int:
    """A rough size of the prompt, for estimates."""
    total = sum(len(tool.description) + 200 for tool in request.tools)
    for message in request.messages:
        total += len(message.text)
        if isinstance(message, Assistant):
            total += sum(len(call.arguments) for call in message.calls)
    return total
