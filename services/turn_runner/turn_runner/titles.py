"""Titles of threads: made by the cheap model after the first answer, beside everything else, and never waited for.

A thread is called by the first words that were said in it until then. Whoever renames it meanwhile keeps that name.
A title that is lost (a process that ends, a model that fails) is not made again; its call is in the books all the
same.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from chassis import logs, metrics
from contracts.hints import Hint
from contracts.ids import uuid7
from contracts.json_values import clean_text
from llm import Finish, ModelError, Request, System, TextDelta, Usage, User
from llm.catalogue import cost
from store import Store, StoreAway
from store.turns import AttemptResult, beside
from turn_runner.lineup import Callee, Callees
from turn_runner.prompts import prompt
from turn_runner.roles import Roles

log = logs.get(__name__)

PATIENCE = 60.0
"""Seconds for one title."""
AT_ONCE = 8
_SHOWN = 2000
"""Characters of question and answer that the model gets."""
_LONGEST = 80
_MOST_TOKENS = 1000
"""Of the answer, reasoning included."""
_MARKS = re.compile(r"^[\s\"'“”„«»`*_#]+|[\s\"'“”„«»`*_.]+$")

_TITLES = metrics.counter("retinue_titles_total", "titles of threads by outcome", ("outcome",))


@dataclass(frozen=True, slots=True)
class FirstExchange:
    """A thread that was answered for the first time."""

    user_id: UUID
    thread_id: UUID
    turn_id: UUID
    provisional: str
    """What it is called until now."""
    question: str
    answer: str
    answered_by: str


class Titles:
    """One per process."""

    def __init__(self, store: Store, say: Callable[[Hint], Awaitable[None]]) -> None:
        self._store = store
        self._say = say
        self._room = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    def want(self, exchange: FirstExchange, roles: Roles, callees: Callees) -> None:
        """Makes a title in the background, if there is a model for it."""
        try:
            chosen = roles.cheap(exchange.answered_by)
            callee = None if chosen is None else callees.of(chosen.model_id, chosen.effort)
        except ModelError as wrong:
            log.warning("no model for titles", reason=wrong.text)
            return
        if callee is not None:
            task = asyncio.create_task(self._make(exchange, callee))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Drops what is not finished."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _make(self, exchange: FirstExchange, callee: Callee) -> None:
        try:
            async with self._room, asyncio.timeout(PATIENCE):
                outcome = await self._title(exchange, callee)
        except (ModelError, StoreAway, TimeoutError) as wrong:
            log.warning("a thread keeps its first words", thread_id=str(exchange.thread_id), reason=str(wrong))
            outcome = "failed"
        except Exception:
            log.exception("titles broke", thread_id=str(exchange.thread_id))
            outcome = "broke"
        _TITLES.labels(outcome=outcome).inc()

    async def _title(self, exchange: FirstExchange, callee: Callee) -> str:
        request = asked_for(exchange, callee)
        attempt_id, size = uuid7(), sum(len(message.text) for message in request.messages)
        async with self._store.session(exchange.user_id) as session:
            begun = await beside.begin(
                session, exchange.turn_id, attempt_id, purpose="title", model=callee.id, input_tokens=size // 4
            )
        if not begun:
            return "gone"
        try:
            title, result = await _heard(callee, request, attempt_id)
        except ModelError as wrong:
            failed = AttemptResult(attempt_id, "failed", wrong.code, input_tokens=size // 4, is_estimated=True)
            async with self._store.session(exchange.user_id) as session:
                await beside.settle(session, exchange.turn_id, failed)
            raise
        async with self._store.session(exchange.user_id) as session:
            await beside.settle(session, exchange.turn_id, result)
            named = bool(title) and await beside.name_thread(
                session, exchange.thread_id, title, provisional=exchange.provisional
            )
        if named:
            await self._say(Hint.of_thread(exchange.user_id, exchange.thread_id))
        return "named" if named else "kept"


def asked_for(exchange: FirstExchange, callee: Callee) -> Request:
    told = f"The person:\n{exchange.question[:_SHOWN]}\n\nThe answer:\n{exchange.answer[:_SHOWN]}"
    return Request((System(prompt("title")), User(told)), max_tokens=_MOST_TOKENS, effort=callee.effort)


def title_in(said: str) -> str:
    """The first line that says something, without what models put around it; empty if there is none."""
    for line in clean_text(said).splitlines():
        if kept := _MARKS.sub("", " ".join(line.split())):
            return kept if len(kept) <= _LONGEST else kept[:_LONGEST].rsplit(" ", 1)[0] + "…"
    return ""


async def _heard(callee: Callee, request: Request, attempt_id: UUID) -> tuple[str, AttemptResult]:
    begun = time.monotonic()
    first: float | None = None
    pieces: list[str] = []
    usage: Usage | None = None
    reason = "other"
    async with callee.model.call(request) as call:
        async for events in call.stream():
            first = first or time.monotonic()
            for event in events:
                if isinstance(event, TextDelta):
                    pieces.append(event.text)
                elif isinstance(event, Usage):
                    usage = event
                elif isinstance(event, Finish):
                    reason = event.reason
    size = sum(len(message.text) for message in request.messages)
    result = AttemptResult(
        id=attempt_id,
        state="done",
        outcome=reason,
        input_tokens=usage.input if usage else size // 4,
        cached_tokens=usage.cached if usage else None,
        output_tokens=usage.output if usage else sum(map(len, pieces)) // 4,
        reasoning_tokens=usage.reasoning if usage else None,
        cost_micros=cost(callee.facts, usage) if usage else None,
        is_estimated=usage is None,
        first_token_ms=None if first is None else round((first - begun) * 1000),
    )
    return title_in("".join(pieces)), result
