"""One open page: what it has still to be told, and when its connection ends.

It begins with `sync`, so nothing that was said before matters. A page that does not take what it is told is dropped:
it connects anew, and hears `sync` instead of all that it missed.
"""

from __future__ import annotations

import asyncio
from uuid import UUID

from chassis import logs, metrics
from contracts.chunks import KEEP_ALIVE
from gateway.events.limits import EventLimits
from gateway.events.notes import SYNC
from gateway.streams.viewer import Socket

log = logs.get(__name__)

_DROPPED = metrics.counter("retinue_event_listeners_dropped_total", "pages that did not take their hints", ("why",))


class Listener:
    """One event stream of one user."""

    def __init__(self, user_id: UUID, limits: EventLimits) -> None:
        self.user_id = user_id
        self.is_gone = False
        """Nobody reads any more."""
        self._limits = limits
        self._queue: list[bytes] = [SYNC]
        self._wanted = asyncio.Event()
        self._wanted.set()
        self._is_over = False
        self._socket: Socket | None = None

    def hear(self, message: bytes) -> None:
        """Never blocks. What is said twice in a row is said once."""
        if self.is_gone or (self._queue and self._queue[-1] == message):
            return
        if len(self._queue) >= self._limits.queue:
            self._drop("slow")
            return
        self._queue.append(message)
        self._wanted.set()

    def end(self) -> None:
        """The stream ends after what is queued: its page connects anew, perhaps elsewhere."""
        self._is_over = True
        self._wanted.set()

    def leave(self) -> None:
        """The client has gone."""
        self.is_gone = True
        self._wanted.set()

    async def run(self, socket: Socket) -> None:
        """Writes until the stream's time is over, or the client goes."""
        self._socket = socket
        loop = asyncio.get_running_loop()
        until = loop.time() + self._limits.age
        while True:
            try:
                async with asyncio.timeout(min(self._limits.heartbeat, max(0.0, until - loop.time()))):
                    await self._wanted.wait()
            except TimeoutError:
                if loop.time() >= until:
                    return
            if self.is_gone:
                return
            await self._write()
            if self._is_over and not self._queue:
                return

    async def _write(self) -> None:
        self._wanted.clear()
        data = b"".join(self._queue) or KEEP_ALIVE
        self._queue.clear()
        if self._is_over:
            self._wanted.set()
        assert self._socket is not None
        try:
            async with asyncio.timeout(self._limits.stuck):
                await self._socket.send(data)
        except TimeoutError:
            self._drop("stuck")

    def _drop(self, why: str) -> None:
        if self.is_gone:
            return
        _DROPPED.labels(why=why).inc()
        log.info("dropped a listener", user_id=self.user_id, why=why, hints=len(self._queue))
        self.leave()
        if self._socket is not None:
            self._socket.abort()
