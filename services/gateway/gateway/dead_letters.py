"""Watches the dead letters of the deployment: how many wait, how long, and which may go."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from chassis import logs, metrics
from gateway.settings import GatewaySettings
from store import Store, StoreAway
from store.system import dead

log = logs.get(__name__)

_PRUNE_EVERY = 100  # looks

_WAITING = metrics.gauge("retinue_dead_letters", "dead letters that nobody has decided about", ("consumer",))
_OLDEST = metrics.gauge("retinue_dead_letters_oldest_seconds", "age of the oldest of them", ("consumer",))


async def watch(store: Store, settings: GatewaySettings) -> None:
    """Measures every `dead_letters_every` seconds, and now and then drops what was replayed long ago."""
    keep = timedelta(seconds=settings.dead_letters_keep)
    looks = 0
    while True:
        try:
            await measure(store)
            if looks % _PRUNE_EVERY == 0:
                await _prune(store, keep)
            looks += 1
        except StoreAway as away:
            log.warning("dead letters are not counted", reason=str(away))
        await asyncio.sleep(settings.dead_letters_every)


async def measure(store: Store) -> None:
    async with store.system() as session:
        found = await dead.waiting(session)
    _WAITING.clear()
    _OLDEST.clear()
    for each in found:
        _WAITING.labels(consumer=each.consumer).set(each.letters)
        _OLDEST.labels(consumer=each.consumer).set(each.oldest)


async def _prune(store: Store, keep: timedelta) -> None:
    async with store.system() as session:
        dropped = await dead.prune(session, keep)
    if dropped:
        log.info("old dead letters dropped", letters=dropped)
