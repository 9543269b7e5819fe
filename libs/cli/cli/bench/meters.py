"""What is read of a stack while it works: CPU seconds, resident memory, bytes moved, the age of transactions."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

from cli.bench.transactions import SeenTransactions, watched_transactions

MB = 1024 * 1024


def cpu_seconds(pids: list[int]) -> float:
    """CPU that these processes have used so far, in user mode and in the kernel."""
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


def resident(pids: list[int]) -> float:
    """Megabytes of memory that they hold now."""
    return sum(psutil.Process(pid).memory_info().rss for pid in pids) / MB


@dataclass
class Samples:
    """A value over time: seconds since the beginning, and the value."""

    taken: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    @property
    def most(self) -> float:
        return max((value for _, value in self.taken), default=float("nan"))


@contextmanager
def sampled(read: Callable[[], float], every: float = 0.5) -> Generator[Samples]:
    """Reads a value again and again on a thread of its own while the block runs, and once more at its end."""
    samples, over, begun = Samples(), threading.Event(), time.monotonic()

    def take() -> None:
        samples.taken.append((time.monotonic() - begun, read()))

    def keep_taking() -> None:
        while not over.wait(every):
            take()

    thread = threading.Thread(target=keep_taking, name="meter", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()
        take()


@contextmanager
def transactions(superuser_url: str) -> Generator[SeenTransactions]:
    """Watches their age while the block runs, on a thread and in a loop of its own: the block waits for processes."""
    watched: list[SeenTransactions] = []
    begun, over = threading.Event(), threading.Event()

    async def watch() -> None:
        async with watched_transactions(superuser_url) as seen:
            watched.append(seen)
            begun.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(watch()), name="transactions", daemon=True)
    thread.start()
    begun.wait()
    try:
        yield watched[0]
    finally:
        over.set()
        thread.join()
