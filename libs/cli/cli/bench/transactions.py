"""Watches that no transaction grows old while a benchmark runs.

    async with watched_transactions(stack.superuser_url) as seen:
        ... the load ...
    seen.oldest            # OpenTransaction | None, the oldest of all samples
    seen.refuse_old()      # AssertionError if it was older than 5 s

A sample is a query of its own connection, a few times a second: what lives shorter than the pause between two is not
of interest here. A database that restarts meanwhile (the crash bench does that) is connected to again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from store.activity import Activity, OpenTransaction, watching
from store.store import StoreAway

MOST_SECONDS = 5.0
"""No transaction is to be older."""


@dataclass
class SeenTransactions:
    """What the samples saw, for as long as the block lasts."""

    samples: int = 0
    oldest: OpenTransaction | None = None
    away: int = 0
    """Samples that failed because the database was away."""
    most: float = field(default=MOST_SECONDS)

    @property
    def oldest_age(self) -> float:
        return self.oldest.age if self.oldest else 0.0

    @property
    def is_fine(self) -> bool:
        return self.oldest_age <= self.most

    def refuse_old(self) -> None:
        """AssertionError that names the transaction, if one was too old or nobody looked."""
        assert self.samples, "nobody looked at the transactions"
        if self.oldest is not None and not self.is_fine:
            old = self.oldest
            raise AssertionError(f"a transaction of {old.login} was {old.age:.1f} s old ({old.state}: {old.query})")

    def see(self, found: list[OpenTransaction]) -> None:
        self.samples += 1
        if found and found[0].age > self.oldest_age:
            self.oldest = found[0]


@asynccontextmanager
async def watched_transactions(superuser_url: str, *, every: float = 0.25) -> AsyncGenerator[SeenTransactions]:
    seen = SeenTransactions()
    watcher = asyncio.create_task(_watch(superuser_url, seen, every), name="transactions")
    try:
        yield seen
    finally:
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher


async def _watch(superuser_url: str, seen: SeenTransactions, every: float) -> None:
    while True:
        try:
            async with watching(superuser_url) as activity:
                await _sample(activity, seen, every)
        except StoreAway:
            seen.away += 1
            await asyncio.sleep(every)


async def _sample(activity: Activity, seen: SeenTransactions, every: float) -> None:
    while True:
        seen.see(await activity.transactions())
        await asyncio.sleep(every)
