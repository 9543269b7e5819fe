"""The sweep, every second: turns that nobody holds, wake-ups that were lost, turns that may run now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext

from chassis import logs, metrics
from store import Session, StoreAway
from store.system import runners, sweep
from store.system.sweep import Swept
from turn_runner.held import Workshop
from turn_runner.slots import Slots

log = logs.get(__name__)

ASK_AGAIN_WHEN_EMPTY, ASK_AGAIN_ANYWAY = 5.0, 30.0
"""Seconds after which a queued turn is asked for again: if `TURN` is empty, and in any case."""

_BURY_EVERY = 600

_SWEPT = metrics.counter("retinue_sweep_turns_total", "turns that the sweep moved", ("how",))
_RECOVERED = metrics.counter("retinue_turns_recovered_total", "turns that were taken from a dead runner")


class Sweeper:
    def __init__(self, workshop: Workshop, slots: Slots, client: Client) -> None:
        self._work = workshop
        self._slots = slots
        self._client = client
        self._passes = 0

    async def keep_sweeping(self) -> None:
        """Sweeps until cancelled, but only while our own heartbeats have long been good."""
        settings = self._work.settings
        took = 0.0
        while True:
            await asyncio.sleep(max(0.05, settings.sweep_every - took))
            begun, took = time.monotonic(), 0.0
            if self._work.lease.unbroken < settings.sweep_patience:
                continue  # a database that was away is a pause, not a death
            try:
                await self.sweep()
            except StoreAway as away:
                log.warning("sweep waits", reason=str(away))
            except Exception:
                log.exception("sweep failed")
            took = time.monotonic() - begun  # a sweep that takes long makes nobody wait longer for the next

    async def sweep(self) -> None:
        limits, lease, budget = self._work.limits, self._work.lease, self._work.settings.recovery_budget
        while await self._pass(lambda s: sweep.recover_dead(s, limits, budget=budget)) == sweep.BATCH:
            pass  # a runner of many turns has died
        await self._pass(lambda s: sweep.recover_orphans(s, lease.id, self._slots.held, limits, budget=budget))
        await self._pass(lambda s: sweep.stop_queued(s, limits))
        age = ASK_AGAIN_WHEN_EMPTY if await self._is_queue_empty() else ASK_AGAIN_ANYWAY
        await self._pass(lambda s: sweep.ask_again(s, age=age))
        async with self._work.store.system() as session:
            users = await sweep.waiting_users(session, limits)
        for user_id in users:
            await self._pass(lambda s, user_id=user_id: sweep.promote_user(s, user_id, limits))
        self._passes += 1
        if self._passes % _BURY_EVERY == 1:
            async with self._work.store.system() as session:
                await runners.bury(session)

    async def _pass(self, act: Callable[[Session], Awaitable[Swept]]) -> int:
        """Returns how many turns were brought back."""
        async with self._work.store.system() as session:
            swept = await act(session)
        self._work.relay.after_commit(swept.outbox)
        for how in ("recovered", "failed", "stopped", "asked_again", "promoted"):
            if count := getattr(swept, how):
                _SWEPT.labels(how=how).inc(count)
                log.info("swept", how=how, turns=count)
        _RECOVERED.inc(swept.recovered)
        return swept.recovered

    async def _is_queue_empty(self) -> bool:
        try:
            info = await JetStreamContext(self._client).stream_info("TURN")
        except (NatsError, OSError):
            return False  # the bus is away: nothing that we ask would arrive
        return info.state.messages == 0
