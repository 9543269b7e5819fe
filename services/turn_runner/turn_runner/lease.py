"""The runner's lease: one heartbeat for all its turns.

A runner whose last good heartbeat is too old starts no tool and commits nothing until it has one again and has
looked at the epochs of its turns. Its id is new with every process, so that nothing of an earlier one is taken for
its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Protocol
from uuid import UUID

from chassis import logs, metrics
from contracts.ids import uuid7
from store import Store
from store.system import runners
from store.system.runners import HeldTurn

log = logs.get(__name__)

_BEATS = metrics.counter("retinue_runner_heartbeats_total", "heartbeats by outcome", ("outcome",))


def now() -> float:
    """Seconds on a clock that also runs while the machine is suspended, where the system has one."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class Holder(Protocol):
    """A turn in this runner's hands, as the heartbeat needs it."""

    @property
    def turn_id(self) -> UUID: ...
    @property
    def epoch(self) -> int: ...
    @property
    def is_changing_epoch(self) -> bool: ...
    def ask_to_stop(self) -> None: ...
    def lose(self) -> None: ...


class Holders(Protocol):
    def holders(self) -> Iterable[Holder]: ...


class Lease:
    """`id` names this runner. `trust` and `lease` are seconds: what we believe, and what the others wait."""

    def __init__(
        self,
        store: Store,
        *,
        name: str,
        slots: int,
        every: float,
        lease: float,
        trust: float,
        clock: Callable[[], float] = now,
    ) -> None:
        self.id = uuid7()
        self._store = store
        self._now = clock
        self._name = name
        self._slots = slots
        self._every = every
        self._lease = lease
        self._trust = trust
        self._sent = float("-inf")
        self._unbroken_since = float("inf")
        self._beaten = asyncio.Event()

    @property
    def is_good(self) -> bool:
        return self._now() - self._sent < self._trust

    @property
    def unbroken(self) -> float:
        """Seconds for which heartbeats have succeeded without a gap over half the lease."""
        return self._now() - self._unbroken_since if self.is_good else 0.0

    async def good(self) -> None:
        """Returns when the lease is good: at once, or after the next successful heartbeat."""
        while not self.is_good:
            self._beaten.clear()
            await self._beaten.wait()

    async def next_beat(self) -> None:
        """Returns after the next successful heartbeat."""
        self._beaten.clear()
        await self._beaten.wait()

    async def keep(self, holders: Holders) -> None:
        """Beats until cancelled."""
        while True:
            begun = time.monotonic()
            await self.beat(holders)
            await asyncio.sleep(max(0.05, self._every - (time.monotonic() - begun)))

    async def beat(self, holders: Holders) -> bool:
        """One heartbeat: says that we are alive, and learns which of our turns were taken or should stop."""
        before = {holder.turn_id: holder.epoch for holder in holders.holders()}
        sent = self._now()
        try:
            async with asyncio.timeout(self._trust), self._store.system() as session:
                rows = await runners.beat(session, self.id, name=self._name, slots=self._slots, lease=self._lease)
        except Exception as wrong:  # noqa: BLE001 - whatever keeps a heartbeat from Postgres is a pause, not an end
            if self._unbroken_since != float("inf"):
                log.warning("heartbeat failed", reason=f"{type(wrong).__name__}: {wrong}")
            self._unbroken_since = float("inf")
            _BEATS.labels(outcome="failed").inc()
            return False
        if sent - self._sent > self._lease / 2 or self._unbroken_since == float("inf"):
            self._unbroken_since = sent
        self._sent = sent
        _BEATS.labels(outcome="good").inc()
        self._compare(holders, before, rows)
        self._beaten.set()
        return True

    async def leave(self) -> None:
        async with self._store.system() as session:
            await runners.leave(session, self.id)

    def _compare(self, holders: Holders, before: dict[UUID, int], rows: list[HeldTurn]) -> None:
        """What we held before the beat and the database does not know under our epoch is no longer ours."""
        known = {row.turn_id: row for row in rows}
        for holder in list(holders.holders()):
            if before.get(holder.turn_id) != holder.epoch or holder.is_changing_epoch:
                continue  # claimed or re-claimed while the heartbeat was under way
            row = known.get(holder.turn_id)
            if row is None or row.epoch != holder.epoch:
                holder.lose()
            elif row.stop_requested_at is not None:
                holder.ask_to_stop()
