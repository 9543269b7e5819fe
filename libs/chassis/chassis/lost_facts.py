"""The daily look for facts that a consumer with an inbox was never given, and for inbox rows that nobody needs.

Each process of a consumer runs it; between them a fact is sent again once a day at most, and only to this consumer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from chassis import logs, metrics
from chassis.consumer_settings import ConsumerSettings
from contracts.subjects import ConsumerSpec
from store import Store, StoreAway
from store.system import facts

log = logs.get(__name__)

_BATCH = 500
_LOOK_AGAIN = 60.0
"""Seconds until the next look when the bus or the database is away, or the bus has not delivered everything yet."""

_SENT_AGAIN = metrics.counter(
    "retinue_lost_facts_sent_again_total", "facts without an inbox row, sent again", ("consumer",)
)


class LostFacts:
    """`is_caught_up` says whether the bus has delivered all it has: what still waits there is not lost."""

    def __init__(
        self, store: Store, spec: ConsumerSpec, settings: ConsumerSettings, is_caught_up: Callable[[], Awaitable[bool]]
    ) -> None:
        if not spec.has_inbox:
            raise ValueError(f"{spec.name} declares no inbox, so nobody can tell what it has worked on")
        self._store = store
        self._spec = spec
        self._every = settings.lost_facts_every
        self._age = timedelta(seconds=settings.lost_facts_age)
        self._keep = timedelta(seconds=settings.inbox_keep)
        self._is_caught_up = is_caught_up

    async def keep_looking(self) -> None:
        """Looks until cancelled."""
        while True:
            try:
                looked = await self.look() is not None
            except StoreAway as away:
                log.warning("lost facts are not looked for", consumer=self._spec.name, reason=str(away))
                looked = False
            await asyncio.sleep(self._every if looked else min(_LOOK_AGAIN, self._every))

    async def look(self) -> int | None:
        """Sends again what is lost, tidies the inbox, and returns how many were sent; none if the bus is not done."""
        if not await self._is_caught_up():
            return None
        sent = 0
        while True:
            async with self._store.system() as session:
                count = await facts.send_again(session, self._spec, self._age, _BATCH)
            sent += count
            if count < _BATCH:
                break
        if sent:
            _SENT_AGAIN.labels(consumer=self._spec.name).inc(sent)
            log.error("facts were lost to a consumer; they are sent again", consumer=self._spec.name, facts=sent)
        await self._tidy()
        return sent

    async def _tidy(self) -> None:
        forgotten = _BATCH
        while forgotten == _BATCH:
            async with self._store.system() as session:
                forgotten = await facts.forget(session, self._spec, self._keep, _BATCH)
