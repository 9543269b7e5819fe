"""One core subscription per turn that is shown, shared by all its viewers and dropped with the last."""

from __future__ import annotations

import asyncio
from uuid import UUID

import nats.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription

from bus.client import directly
from chassis import logs, metrics
from contracts.batches import unpack
from contracts.subjects import log_subject
from gateway.streams.viewer import Viewer

_TICK = 0.5  # seconds between looks at silence, heartbeats and stuck sockets
_CONFIRM = 1.0  # seconds that a subscription may take to be known at the broker

_VIEWERS = metrics.gauge("retinue_stream_viewers", "open streams")
_TURNS = metrics.gauge("retinue_stream_turns", "turns that this process listens to")

log = logs.get(__name__)


class _Channel:
    """What one turn says, for everybody who listens."""

    def __init__(self, client: Client, turn_id: UUID) -> None:
        self.viewers: dict[Viewer, None] = {}
        self.opened: asyncio.Task[bool] = asyncio.create_task(self._open(), name=f"watch-{turn_id}")
        self._client = client
        self._turn_id = turn_id
        self._subscription: Subscription | None = None

    async def _open(self) -> bool:
        """Whether the broker has confirmed that we listen; if not, it will once it is back."""
        try:
            self._subscription = await self._client.subscribe(log_subject(self._turn_id), cb=directly(self._arrived))
            if not self._client.is_connected:
                return False
            # What we publish or ask from now on comes after it at the broker; other publishers need the answer.
            await self._client.flush(timeout=_CONFIRM)  # pyright: ignore[reportArgumentType]
        except (nats.errors.Error, OSError) as wrong:
            log.warning("cannot listen to a turn", turn=str(self._turn_id), reason=type(wrong).__name__)
            return False
        return True

    def _arrived(self, subject: str, data: bytes) -> None:
        try:
            batch = unpack(data)
        except ValueError as wrong:
            log.warning("ignored on the bus", subject=subject, reason=str(wrong))
            return
        for viewer in self.viewers:
            viewer.hear(batch)

    async def close(self) -> None:
        await self.opened
        # Let go of here: it knows us by its callback, and what knows each other waits for the garbage collector.
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            try:
                await subscription.unsubscribe()
            except nats.errors.Error as wrong:
                log.debug("cannot unsubscribe", turn=str(self._turn_id), reason=type(wrong).__name__)


class Hub:
    """Who listens to which turn. `run` is the clock of all viewers."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._channels: dict[UUID, _Channel] = {}
        self._viewers: dict[Viewer, None] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._reconnects = 0
        self._is_closed = False

    @property
    def viewers(self) -> int:
        return len(self._viewers)

    @property
    def turns(self) -> int:
        return len(self._channels)

    async def join(self, viewer: Viewer) -> bool:
        """From now on the viewer hears its turn. Returns whether the broker has confirmed it."""
        channel = self._channels.get(viewer.turn_id)
        if channel is None:
            channel = self._channels[viewer.turn_id] = _Channel(self._client, viewer.turn_id)
        channel.viewers[viewer] = None
        self._viewers[viewer] = None
        self._measure()
        if self._is_closed:
            viewer.reset()
        try:
            return await asyncio.shield(channel.opened)
        except BaseException:
            self.leave(viewer)
            raise

    def leave(self, viewer: Viewer) -> None:
        """The viewer hears nothing more; the last one of a turn ends its subscription. Safe to call again."""
        viewer.leave()
        self._viewers.pop(viewer, None)
        channel = self._channels.get(viewer.turn_id)
        if channel is not None:
            channel.viewers.pop(viewer, None)
            if not channel.viewers:
                del self._channels[viewer.turn_id]
                task = asyncio.create_task(channel.close(), name=f"unwatch-{viewer.turn_id}")
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
        self._measure()

    def reset_all(self) -> int:
        """Break every stream, those to come too, so that clients resume elsewhere; returns how many there were."""
        self._is_closed = True
        viewers = list(self._viewers)
        for viewer in viewers:
            viewer.reset()
        return len(viewers)

    async def run(self) -> None:
        """Until cancelled: silence, heartbeats, stuck sockets, and a look for everybody when the bus is back."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_TICK)
            self._notice_reconnect()
            now = loop.time()
            for viewer in list(self._viewers):
                viewer.tick(now)

    def _notice_reconnect(self) -> None:
        """Live batches went by while the bus was away: the log has them."""
        reconnects = self._client.stats["reconnects"]
        if reconnects != self._reconnects and self._client.is_connected:
            self._reconnects = reconnects
            for viewer in self._viewers:
                viewer.look()

    def _measure(self) -> None:
        _VIEWERS.set(len(self._viewers))
        _TURNS.set(len(self._channels))
