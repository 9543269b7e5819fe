"""The loop of one turn: model, tools, stop, end. Readable top to bottom.

A step is one model call and the tools it asked for. What counts is committed at the points of turns.md, each
conditional on our epoch; between them the log only shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from chassis import faults, logs, metrics
from contracts.turns import TurnStatus
from llm import ModelError, Provider
from store import Session, turns
from store.repositories import transcripts
from store.repositories.transcripts import AgentProfile, PastMessage
from store.turns import Claim, TurnLost
from turn_runner import context
from turn_runner.course import Course
from turn_runner.ending import Ended, failed, finished, prepared
from turn_runner.held import Halted, HandOver, HeldTurn, Workshop
from turn_runner.lineup import Callees, Lineup
from turn_runner.log import BatchTooLarge
from turn_runner.model_calls import ModelCalls
from turn_runner.resumption import Resumption, resumption
from turn_runner.roles import Roles
from turn_runner.search.means import hosted_search
from turn_runner.seen import seen
from turn_runner.streamed import streamed_tokens
from turn_runner.titles import FirstExchange
from turn_runner.tool_use import ToolUse
from turn_runner.tools import Tool, offered

log = logs.get(__name__)

_ENDED = metrics.counter("retinue_turns_ended_total", "turns by how they ended", ("status", "ended_by"))
_RELEASED = metrics.counter("retinue_turns_released_total", "turns given back to the queue by a runner that leaves")


@dataclass(frozen=True, slots=True)
class Ready:
    """What the loop begins with."""

    agent: AgentProfile
    roles: Roles
    callees: Callees
    lineup: Lineup
    tools: list[Tool[Any]]
    course: Course
    first_words: str | None
    """What the thread is called only because it has no title yet: this is its first exchange."""
    question: str


class Turn:
    """One claimed turn. `run` takes it to its end, or drops it without a word when it is no longer ours."""

    def __init__(self, workshop: Workshop, claim: Claim) -> None:
        self._held = HeldTurn(workshop, claim)
        self._model_calls = ModelCalls(self._held)
        self._tool_use = ToolUse(self._held)
        self._ready: Ready | None = None
        self._last_text = ""
        self._task: asyncio.Task[None] | None = None
        self._is_ending = False
        self._is_taken_up = claim.epoch == 1

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

    def hand_over(self) -> None:
        """The process is going down: at its next commit point the turn goes back to the queue."""
        self._held.hand_over()

    def shut_down(self) -> None:
        """The process can wait no longer: whatever is under way is dropped, and the turn goes back to the queue."""
        self._held.hand_over()
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
            try:
                await self._end(await self._outcome())
            except HandOver:
                await self._release()
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
            if self._held.halted_by == "shutdown":
                raise HandOver from None
            return await self._stopped()
        except ModelError as wrong:
            log.warning("model call failed", code=wrong.code, detail=wrong.detail, status=wrong.status)
            return failed(wrong.code, wrong.text)
        except BatchTooLarge as wrong:
            await self._model_calls.give_up("too_large")
            if self._held.log.has_failed:  # what was to be in that batch is nowhere: it cannot be closed
                await self._held.supersede()
            return failed("too_large", f"A piece of this answer is too large to send: {wrong}.")
        except (TurnLost, HandOver):
            raise
        except Exception:
            if not self._is_taken_up:
                raise  # we do not even know what would have to be closed: the sweep does, until the budget is over
            log.exception("turn broke", turn_id=str(self.turn_id))
            return failed("internal", "Something in the system broke while answering. Please try again.")

    async def _stopped(self) -> Ended:
        held = self._held
        return Ended(TurnStatus.STOPPED, await held.commit(lambda session: turns.stop_reason(session, held.turn_id)))

    async def _answer(self) -> Ended:
        held = self._held
        held.commit_point()
        left = await self._take_up()
        await held.begin()
        claim = held.claim
        providers = await held.patiently(lambda: held.work.users.of(claim.user_id, has_own=claim.has_own_keys))
        ready = self._ready = await held.commit(lambda session: self._prepare(session, providers))
        self._tool_use.user_settings = ready.agent.settings
        course, tools = ready.course, ready.tools
        if left is not None:
            await self._walk_again(left, course, tools)
            if left.is_answered:
                return finished(left.last_outcome or "other")
        while True:
            is_last = held.steps >= ready.agent.max_steps - 1
            offer = [] if is_last or course.answer_now else tools
            narration = await self._model_calls.call(ready.lineup, course.messages, offer)
            text = narration.text.text()
            self._last_text = text or self._last_text
            if narration.calls and offer:
                await self._model_calls.commit(narration)
                results = await self._tool_use.run(narration.calls, offer)
                course.exchanged(text, narration.calls, results, narration.reasoning)
                continue
            if not text and not course.was_nudged and not is_last:
                course.nudge()
                await self._model_calls.commit(narration)
                continue
            if not text:
                return failed("empty_answer", "The model gave no answer. Try again, or ask in other words.")
            reason = narration.finish.reason if narration.finish else "other"
            return finished(reason, at_limit=is_last and bool(tools), in_circles=course.is_in_circles)

    async def _take_up(self) -> Resumption | None:
        """What older epochs committed, if there were any."""
        held = self._held
        if self.epoch == 1:
            return None
        streamed = await self._streamed()
        left = await held.commit(lambda session: resumption(session, held.claim, streamed))
        open_calls = {call.id: call.state for call in left.open_calls}
        held.restore(left.parts, max(held.steps, left.answers), open_calls)
        self._is_taken_up = True
        log.info("turn taken up", turn_id=str(self.turn_id), epoch=self.epoch, steps=held.steps, calls=len(open_calls))
        return left

    async def _streamed(self) -> dict[int, int]:
        """What model calls that nobody settled had said, as far as the log knows."""
        held = self._held
        open_attempts = await held.commit(lambda session: turns.open_attempts(session, held.claim))
        if not open_attempts:
            return {}
        return await streamed_tokens(held.work.logs.client, self.turn_id, open_attempts, held.claim.commit.number)

    async def _prepare(self, session: Session, providers: Sequence[Provider]) -> Ready:
        """What the model will see, and the attempt of its first call: one transaction, because somebody waits.

        After an older epoch there may be tools to see to first, so that no call is opened here.
        """
        claim, work = self._held.claim, self._held.work
        agent = await transcripts.profile(session, claim.agent_id, claim.thread_id)
        if agent is None:
            raise LookupError(f"the agent {claim.agent_id} of the turn is not its user's")
        work.catalogue.warm(providers)
        roles = Roles(work.settings, providers, work.catalogue)
        callees = Callees(work.models, work.catalogue, work.settings, providers)
        chosen = roles.chat(agent, turn_model=claim.model, goes_on=claim.epoch > 1)
        lineup = Lineup(callees, chosen, hosted_search(agent.settings))
        tools = lineup.current.offer(offered(claim.channel, agent.capabilities))
        past = await transcripts.before(session, claim.thread_id, claim.message_id)
        blocks = context.blocks_of(agent, [tool.name for tool in tools], claim.channel, claim.started_at)
        course = Course(context.opening(blocks, past))
        self._model_calls.prompt = seen(blocks, tools)
        if claim.epoch == 1:
            await self._model_calls.open_first(session, lineup, course.messages, tools)
        first_words = _first_words(agent, past)
        return Ready(agent, roles, callees, lineup, tools, course, first_words, past[-1].said if past else "")

    async def _walk_again(self, left: Resumption, course: Course, tools: list[Tool[Any]]) -> None:
        """Goes the way of the committed steps; what the last one left open is run, or said to be unknown."""
        for step in left.steps:
            self._last_text = step.text or self._last_text
            if step.calls:
                results = await self._tool_use.run(step.calls, tools)
                course.exchanged(step.text, step.calls, results, step.reasoning)
        if left.is_silent:
            course.nudge()

    async def _end(self, ended: Ended) -> None:
        """The end: close what is open, then one transaction that also holds the end batch."""
        held = self._held
        attempt, self._model_calls.open = self._model_calls.open, None
        ending = await prepared(held, ended, attempt, self._last_text)
        self._is_ending = True
        messages = await held.commit(lambda session: turns.end(session, held.claim, ending))
        faults.reached("before_end_batch")
        held.work.relay.after_commit(messages)
        _ENDED.labels(status=ended.status.value, ended_by=ended.ended_by).inc()
        log.info("turn ended", turn_id=str(self.turn_id), status=ended.status.value, ended_by=ended.ended_by)
        if ended.ended_by == "reply":
            self._want_title(self._last_text or (attempt.narration.text.text() if attempt else ""))

    def _want_title(self, answer: str) -> None:
        """After the first exchange of a thread that nobody has named."""
        ready, claim, work = self._ready, self._held.claim, self._held.work
        if ready is None or ready.first_words is None or not work.settings.titles:
            return
        exchange = FirstExchange(
            user_id=claim.user_id,
            thread_id=claim.thread_id,
            turn_id=claim.turn_id,
            provisional=ready.first_words,
            question=ready.question,
            answer=answer,
            answered_by=ready.lineup.current.id,
        )
        work.titles.want(exchange, ready.roles, ready.callees)

    async def _release(self) -> None:
        """Back into the queue, for whoever takes it up next; what was said beyond the last commit will not count."""
        held, attempt = self._held, self._model_calls.open
        result = None if attempt is None else attempt.result("interrupted", "released")
        self._is_ending = True
        messages = await held.commit(lambda session: turns.release(session, held.claim, result))
        if messages is None:  # a stop was quicker
            await self._end(await self._stopped())
            return
        held.work.relay.after_commit(messages)
        _RELEASED.inc()
        log.info("turn released", turn_id=str(self.turn_id), epoch=self.epoch, steps=held.steps)


def _first_words(agent: AgentProfile, past: Sequence[PastMessage]) -> str | None:
    """What the thread is called, if it is called so only because these were the first words in it."""
    if len(past) != 1 or agent.thread_title is None:
        return None
    words = turns.first_words([part.data for part in past[0].parts])
    return words if words == agent.thread_title else None
