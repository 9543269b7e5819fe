"""Who listens: one pair of subscriptions for each user with open pages, shared by those pages, dropped with the last.

Hints come from whichever process made them true; ends of turns are facts, heard as they pass. What is said while the
bus is away is lost, so everybody is told `sync` when it is back.
"""

from __future__ import annotations

import asyncio
from uuid import UUID

import nats.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from pydantic import ValidationError

from bus.client import directly
from chassis import logs, metrics
from contracts.hints import Hint
from contracts.settings import SettingLevel, SettingsChanged
from contracts.subjects import SETTINGS_CHANGED, ended_subject, hint_subject
from contracts.turns import TurnCompleted
from gateway.events import notes
from gateway.events.limits import EventLimits
from gateway.events.listener import Listener
from gateway.events.response import EventStream

_TICK = 0.5  # seconds between looks at whether the bus is back
_CONFIRM = 1.0  # seconds that a subscription may take to be known at the broker

_LISTENERS = metrics.gauge("retinue_event_listeners", "open event streams")

log = logs.get(__name__)


class TooManyListeners(Exception):
    """This user has as many event streams open in this process as one user may."""


class _Channel:
    """What one user is told, for all of their pages."""

    def __init__(self, client: Client, user_id: UUID) -> None:
        self.listeners: dict[Listener, None] = {}
        self.opened: asyncio.Task[None] = asyncio.create_task(self._open(), name=f"hints-{user_id}")
        self._client = client
        self._user_id = user_id
        self._subscriptions: list[Subscription] = []

    async def _open(self) -> None:
        """Returns when the broker knows that we listen; while it is away, once it has been asked."""
        try:
            hints = await self._client.subscribe(hint_subject(self._user_id), cb=directly(self._hinted))
            ends = await self._client.subscribe(ended_subject(self._user_id), cb=directly(self._ended))
            self._subscriptions += [hints, ends]
            if self._client.is_connected:
                await self._client.flush(timeout=_CONFIRM)  # pyright: ignore[reportArgumentType]
        except (nats.errors.Error, OSError) as wrong:
            log.warning("cannot listen to hints", user_id=self._user_id, reason=type(wrong).__name__)

    def _hinted(self, subject: str, data: bytes) -> None:
        try:
            hint = Hint.model_validate_json(data)
        except ValidationError:
            log.warning("ignored on the bus", subject=subject)
            return
        if hint.user_id == self._user_id:
            self.tell(notes.of_hint(hint))

    def _ended(self, subject: str, data: bytes) -> None:
        try:
            fact = TurnCompleted.model_validate_json(data)
        except ValidationError:
            log.warning("ignored on the bus", subject=subject)
            return
        self.tell(notes.of_end(fact))

    def tell(self, message: bytes) -> None:
        for listener in list(self.listeners):
            listener.hear(message)

    async def close(self) -> None:
        await self.opened
        for subscription in self._subscriptions:
            try:
                await subscription.unsubscribe()
            except nats.errors.Error as wrong:
                log.debug("cannot unsubscribe", user_id=self._user_id, reason=type(wrong).__name__)


class EventHub:
    """All event streams of this process. `run` must be running while there are any."""

    def __init__(self, client: Client, limits: EventLimits) -> None:
        self._client = client
        self._limits = limits
        self._channels: dict[UUID, _Channel] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._reconnects = 0
        self._is_closed = False

    @property
    def listeners(self) -> int:
        return sum(len(channel.listeners) for channel in self._channels.values())

    async def listen(self, user_id: UUID) -> EventStream:
        """A stream of this user's hints, from now on. Raises `TooManyListeners`."""
        channel = self._channels.get(user_id)
        if channel is None:
            channel = self._channels[user_id] = _Channel(self._client, user_id)
        if len(channel.listeners) >= self._limits.per_user:
            raise TooManyListeners
        listener = Listener(user_id, self._limits)
        channel.listeners[listener] = None
        _LISTENERS.set(self.listeners)
        try:
            await asyncio.shield(channel.opened)
        except BaseException:
            self._leave(listener)
            raise
        if self._is_closed:
            listener.end()
        return EventStream(listener, self._leave)

    def tell_everybody(self, message: bytes) -> None:
        for channel in self._channels.values():
            channel.tell(message)

    def tell(self, user_id: UUID, message: bytes) -> None:
        if channel := self._channels.get(user_id):
            channel.tell(message)

    def close(self) -> int:
        """End every stream, those to come too, so that pages connect elsewhere; returns how many there were."""
        self._is_closed = True
        listeners = [each for channel in self._channels.values() for each in channel.listeners]
        for listener in listeners:
            listener.end()
        return len(listeners)

    async def run(self) -> None:
        """Until cancelled: what concerns more than one user, and `sync` for all when the bus was away."""
        await self._client.subscribe(SETTINGS_CHANGED, cb=directly(self._set_up))
        while True:
            await asyncio.sleep(_TICK)
            reconnects = self._client.stats["reconnects"]
            if reconnects != self._reconnects and self._client.is_connected:
                self._reconnects = reconnects
                self.tell_everybody(notes.SYNC)

    def _set_up(self, subject: str, data: bytes) -> None:
        try:
            fact = SettingsChanged.model_validate_json(data)
        except ValidationError:
            log.warning("ignored on the bus", subject=subject)
            return
        message = notes.of_hint(Hint(kind="settings", user_id=fact.user_id))
        if fact.level is SettingLevel.DEPLOYMENT:
            self.tell_everybody(message)
        else:
            self.tell(fact.user_id, message)

    def _leave(self, listener: Listener) -> None:
        """The last listener of a user ends the subscriptions. Safe to call again."""
        listener.leave()
        channel = self._channels.get(listener.user_id)
        if channel is None:
            return
        channel.listeners.pop(listener, None)
        _LISTENERS.set(self.listeners)
        if not channel.listeners:
            del self._channels[listener.user_id]
            task = asyncio.create_task(channel.close(), name=f"unhint-{listener.user_id}")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
