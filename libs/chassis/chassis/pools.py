"""Named, bounded thread pools for work that would hold the event loop (argon2, exports, solvers).

Never the default executor: there, one slow kind of work starves every other. What does not fit is refused at once
with `Busy`, so that a flood of logins costs a 503 and not a minute of everyone's latency.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from chassis import metrics
from chassis.errors import Busy

P = ParamSpec("P")
T = TypeVar("T")

_QUEUED = metrics.gauge("retinue_pool_queue_length", "work waiting for a thread", ("pool",))
_RUNNING = metrics.gauge("retinue_pool_running", "work on a thread now", ("pool",))
_REFUSED = metrics.counter("retinue_pool_refused_total", "work refused because the queue was full", ("pool",))


class Pool:
    """`size` threads and room for `queue_limit` waiting calls; one more raises `Busy`."""

    def __init__(self, name: str, *, size: int, queue_limit: int) -> None:
        self.name = name
        self.size = size
        self.queue_limit = queue_limit
        self._threads = ThreadPoolExecutor(size, thread_name_prefix=f"pool-{name}")
        self._taken = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._measure()

    @property
    def queued(self) -> int:
        """Calls that wait for a thread."""
        return max(0, self._taken - self.size)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` on a thread, with the caller's context variables. Raises `Busy` when the queue is full.

        Cancelling the caller does not stop a thread: the slot stays taken until the function returns.
        """
        if self._taken >= self.size + self.queue_limit:
            _REFUSED.labels(pool=self.name).inc()
            raise Busy(
                f"too much {self.name} work is waiting (limit {self.queue_limit}); try again shortly", pool=self.name
            )
        context = contextvars.copy_context()
        self._take()
        try:
            future = self._threads.submit(context.run, lambda: function(*args, **kwargs))
        except RuntimeError:
            self._give_back()
            raise
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda done: self._returned(loop, done))
        return await asyncio.wrap_future(future)

    async def close(self, grace: float = 5.0) -> None:
        """Take no more work, drop what waits, and give what runs `grace` seconds."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        try:
            async with asyncio.timeout(grace):
                await self._idle.wait()
        except TimeoutError:
            raise TimeoutError(f"pool {self.name} still runs {self._taken} calls after {grace:g} s") from None

    def _returned(self, loop: asyncio.AbstractEventLoop, _done: Future[T]) -> None:
        """Called on a pool thread (or by `shutdown`): hand the slot back on the loop, which owns the count."""
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._give_back)

    def _take(self) -> None:
        self._taken += 1
        self._idle.clear()
        self._measure()

    def _give_back(self) -> None:
        self._taken -= 1
        if self._taken == 0:
            self._idle.set()
        self._measure()

    def _measure(self) -> None:
        _QUEUED.labels(pool=self.name).set(self.queued)
        _RUNNING.labels(pool=self.name).set(min(self._taken, self.size))
