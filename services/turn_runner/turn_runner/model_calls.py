"""One step's model call: its attempt in the ledger, its stream into the log, and another try where that may help.

The runner alone owns retries. A failure before the first token is a pause and a new attempt; after it the text so
far is superseded first. When a model has failed for good, the agent's next one is asked; each call is an attempt.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from chassis import faults, logs, metrics
from contracts.ids import uuid7
from llm import Assistant, Message, ModelError, Request
from llm.catalogue import cost
from store import Session, turns
from store.turns import AttemptResult, CallRow, PromptSeen
from turn_runner.held import HeldTurn
from turn_runner.lineup import Callee, Lineup
from turn_runner.narration import HOSTED_SEARCH, AskedCall, HostedCall, Narration
from turn_runner.tools import TOOLS
from turn_runner.tools import Tool as OurTool

log = logs.get(__name__)

_FIRST_TOKEN = metrics.histogram("retinue_model_first_token_seconds", "from the model call to its first token")
_MODEL_CALLS = metrics.counter("retinue_model_calls_total", "model calls by outcome", ("outcome",))


@dataclass(slots=True)
class Attempt:
    """One model call as the provider sees it."""

    id: UUID
    step: int
    number: int
    narration: Narration
    callee: Callee
    input_characters: int = 0
    begun: float = 0.0
    first_token: float | None = None
    failed_with: str | None = None
    """The code of its own error, whatever the turn ends with."""

    @property
    def estimated_input(self) -> int:
        """Four characters a token."""
        return self.input_characters // 4

    def result(self, state: str, outcome: str) -> AttemptResult:
        """The provider's count where there is one, else four characters a token, marked as an estimate; the cost of a
        count that the provider gave, by itself or by the catalogue's prices, and of no estimate.
        """
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
            cost_micros=cost(self.callee.facts, usage) if usage else None,
            is_estimated=usage is None,
            first_token_ms=first,
        )


class ModelCalls:
    """The model calls of one turn. `open` is the attempt whose outcome is not committed yet, `prompt` what all of
    them are given before the conversation.
    """

    def __init__(self, held: HeldTurn) -> None:
        self.open: Attempt | None = None
        self.prompt: PromptSeen | None = None
        self._held = held
        self._first: Attempt | None = None

    async def open_first(
        self, session: Session, lineup: Lineup, messages: list[Message], offer: list[OurTool[Any]]
    ) -> None:
        """Opens the attempt of the first call in a transaction that is under way; safe to repeat in another.

        Raises `RequestRefused` if nobody can take the request.
        """
        request = lineup.fit(messages, offer)
        if self._first is None:
            self.open = self._first = self._attempt(1, lineup.current, _characters(request))
        await self._write(session, self._first)

    async def call(self, lineup: Lineup, messages: list[Message], offer: list[OurTool[Any]]) -> Narration:
        """Raises `ModelError` when trying again will not help, or has not; `HandOver` before a call.

        Of several models that failed, the first one's error is told: it is the one that was chosen.
        """
        tries = number = 0
        told: ModelError | None = None
        while True:
            tries, number = tries + 1, number + 1
            request = lineup.fit(messages, offer)
            self._held.commit_point()
            attempt = await self._open(lineup.current, number, _characters(request))
            try:
                await self._held.interruptible(self._listen(request, attempt))
                _MODEL_CALLS.labels(outcome="done").inc()
                return attempt.narration
            except ModelError as wrong:
                _MODEL_CALLS.labels(outcome=wrong.code).inc()
                attempt.failed_with = wrong.code
                pause = self._pause(wrong, tries)
                if pause is None:
                    if not lineup.next(wrong):
                        if told is None or wrong.started:
                            raise
                        raise told from wrong
                    told = told or wrong
                    log.warning("another model is asked", model=lineup.current.id, code=wrong.code, detail=wrong.detail)
                    tries, pause = 0, 0.0
                await self.give_up(wrong.code)
                if pause:
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
        held.open_calls |= {call.id: "asked" for call in calls if not call.is_hosted}

    async def _open(self, callee: Callee, number: int, characters: int) -> Attempt:
        """(o) The attempt's row comes before the call, so that no call is without one."""
        attempt, self._first = self._first, None
        if attempt is None:
            made = attempt = self._attempt(number, callee, characters)
            await self._held.commit(lambda session: self._write(session, made))
        if self.prompt is not None:
            self._held.work.prompts.remember(self._held.claim.user_id, self.prompt)
        self.open = attempt
        return attempt

    def _attempt(self, number: int, callee: Callee, characters: int) -> Attempt:
        held = self._held
        narration = Narration(f"{held.epoch}.{held.steps}.{number}", follows_step=held.stored > 0)
        return Attempt(uuid7(), held.steps, number, narration, callee, characters)

    async def _write(self, session: Session, attempt: Attempt) -> None:
        held, prompt = self._held, self.prompt
        held.model = attempt.callee.id
        await turns.open_attempt(
            session,
            held.claim,
            attempt.id,
            step=attempt.step,
            number=attempt.number,
            model=attempt.callee.id,
            input_tokens=attempt.estimated_input,
            prompt=None if prompt is None else held.work.prompts.brief(held.claim.user_id, prompt),
        )

    async def _listen(self, request: Request, attempt: Attempt) -> None:
        attempt.begun = time.monotonic()
        narration, own_log = attempt.narration, self._held.log
        async with attempt.callee.model.call(request) as call:
            async for events in call.stream():
                told = narration.tell(events)
                if told:
                    if attempt.first_token is None:
                        faults.reached("before_first_chunk")
                        attempt.first_token = time.monotonic()
                        _FIRST_TOKEN.observe(attempt.first_token - attempt.begun)
                    await own_log.write(told)
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
    """Calls that the model asked us for, and what its provider did by itself."""
    asked = [_call_row(call, step) for call in narration.calls]
    return asked + [_hosted_row(call, step) for call in narration.searches]


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


def _hosted_row(call: HostedCall, step: int) -> CallRow:
    return CallRow(
        id=call.id,
        step=step,
        name=HOSTED_SEARCH,
        provider_call_id="",
        input=call.input,
        is_idempotent=True,
        is_hosted=True,
        output=call.output,
    )


def _characters(request: Request) -> int:
    """A rough size of the prompt, for estimates."""
    total = sum(len(tool.description) + 200 for tool in request.tools)
    for message in request.messages:
        total += len(message.text)
        if isinstance(message, Assistant):
            total += sum(len(call.arguments) for call in message.calls)
    return total
