"""A window that follows a made-up life: the gateway's own viewer, a wire that may break anywhere, our own client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from cli.bench.batches import BatchReader, Message, WholeBatch
from contracts.batches import START, Batch, BatchId
from gateway.streams import notes
from gateway.streams.limits import StreamLimits
from gateway.streams.log import LogAway, Stored
from gateway.streams.viewer import Broken, Viewer
from store import StoreAway
from store.turns import TurnState
from tests.property.lives import TURN, Life

LOOK = 0.01
"""Seconds between asking and being answered: whatever happens meanwhile, happens between the two looks."""


@dataclass
class Servers:
    """Postgres and the log, as a gateway sees them: slow, and sometimes away."""

    life: Life
    is_store_away: bool = False
    is_log_away: bool = False


class Rows:
    """The turn's row, in the shape of `gateway.streams.rows.TurnRow`."""

    def __init__(self, servers: Servers) -> None:
        self.turn_id = TURN
        self._servers = servers

    async def state(self) -> TurnState:
        await self._asked()
        return self._servers.life.state()

    async def message(self) -> tuple[TurnState, list[dict[str, Any]]]:
        await self._asked()
        return self._servers.life.state(), self._servers.life.stored()

    async def _asked(self) -> None:
        await asyncio.sleep(LOOK)
        if self._servers.is_store_away:
            raise StoreAway


class Log:
    """The stored log, in the shape of `gateway.streams.log.LogReader`."""

    def __init__(self, servers: Servers, on_first_read: Callable[[int], None]) -> None:
        self._servers = servers
        self._on_first_read: Callable[[int], None] | None = on_first_read

    async def read(self, turn_id: UUID, after: int, most: int | None = None) -> AsyncIterator[Stored]:
        await asyncio.sleep(LOOK)
        if self._servers.is_log_away:
            raise LogAway("away")
        page = [stored for stored in self._servers.life.log if stored.sequence > after][:most]
        if self._on_first_read is not None:
            self._on_first_read(max((stored.batch.id.epoch for stored in page), default=0))
            self._on_first_read = None
        for stored in page:
            yield stored


class Wire:
    """A connection: what is sent arrives, until it breaks after so many more bytes."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._room: int | None = None
        self._flows = asyncio.Event()
        self._flows.set()
        self.on_break: Callable[[], None] = lambda: None

    async def send(self, data: bytes) -> None:
        await self._flows.wait()
        if self._room is None:
            self._take(data)
            return
        self._take(data[: self._room])
        self._room = max(0, self._room - len(data))
        if self._room == 0:
            self.on_break()

    def send_now(self, data: bytes) -> bool:
        if not self._flows.is_set() or self._room is not None:
            return False
        self._take(data)
        return True

    def unsent(self) -> int:
        return -1

    def abort(self) -> None:
        self.on_break()
        self._flows.set()

    def cut_after(self, room: int) -> None:
        self._room = room
        if room == 0:
            self.abort()

    def stall(self, stalls: bool) -> None:
        self._flows.clear() if stalls else self._flows.set()


@dataclass
class Connection:
    """What one connection brought, for whoever wants to play it again."""

    starts_over: bool
    data: bytearray = field(default_factory=bytearray)


class Window:
    """One reader of the turn, over as many connections as it takes."""

    def __init__(self, servers: Servers, limits: StreamLimits, *, sees_beginning: bool = False) -> None:
        self.message = Message()
        self.connections: list[Connection] = []
        self.inbox: list[Batch] = []
        self.is_over = False
        self.breaks = 0
        self._servers = servers
        self._limits = limits
        self._sees_beginning = sees_beginning
        self._viewer: Viewer | None = None
        self._wire: Wire | None = None
        self._reader = BatchReader()
        self._checks = Checks(servers.life, knows_log=sees_beginning)
        servers.life.listeners.append(self.inbox.append)

    async def follow(self) -> None:
        """Connects again and again, until the message is whole."""
        while not self.is_over:
            try:
                await self._connect()
            except (StoreAway, LogAway, Broken):
                self.breaks += 1
            await asyncio.sleep(LOOK)

    def hear(self, place: int = 0) -> None:
        """One of the batches that are on their way arrives."""
        if self.inbox:
            batch = self.inbox.pop(place % len(self.inbox))
            if self._viewer is not None:
                self._viewer.hear(batch)

    def repeat(self, place: int) -> None:
        """A batch will arrive twice."""
        if self.inbox:
            self.inbox.append(self.inbox[place % len(self.inbox)])

    def lose(self, place: int) -> None:
        if self.inbox:
            self.inbox.pop(place % len(self.inbox))

    def cut_after(self, room: int) -> None:
        if self._wire is not None:
            self._wire.cut_after(room)

    def stall(self, stalls: bool) -> None:
        if self._wire is not None:
            self._wire.stall(stalls)

    def tick(self, now: float) -> None:
        if self._viewer is not None:
            self._viewer.tick(now)

    async def _connect(self) -> None:
        position = self.message.position
        log = Log(self._servers, self._checks.log_was_read)
        viewer = Viewer(Rows(self._servers), log, self._limits, position)  # type: ignore[arg-type]
        if self._sees_beginning:
            self._sees_beginning = False
            viewer.expects_all()
        self._viewer = viewer
        if position != START:
            state = await viewer.prepare()
            if state.is_final and position == notes.end_of(state):
                self.is_over = True
                return
            if not viewer.can_continue(state):
                self._start_over()
                return
        await self._run(viewer)

    def _start_over(self) -> None:
        self.message = Message()
        self._checks = Checks(self._servers.life)
        self.connections.append(Connection(starts_over=True))

    async def _run(self, viewer: Viewer) -> None:
        self._reader = BatchReader()
        self.connections.append(Connection(starts_over=False))
        self._wire = Wire(self._arrive)
        self._wire.on_break = viewer.leave
        try:
            await viewer.run(self._wire)
        finally:
            viewer.leave()
            self._viewer = self._wire = None
        self.is_over = self.message.is_ended

    def _arrive(self, data: bytes) -> None:
        self.connections[-1].data += data
        for batch in self._reader.feed(data):
            self._checks.look_at(batch, self.message.position)
            self.message.apply(batch)


class Checks:
    """What must hold for every batch that a client is given, whatever happened before."""

    def __init__(self, life: Life, *, knows_log: bool = False) -> None:
        self._life = life
        self._knows_log = knows_log
        self._newest = 0
        self._known = 0
        self._is_fresh = True

    def log_was_read(self, newest: int) -> None:
        """A fresh reader never sees what the log knew to be superseded when it was first read."""
        self._knows_log = True
        if self._is_fresh:
            self._known = newest

    def look_at(self, batch: WholeBatch, position: BatchId) -> None:
        id, is_note = batch.id, any(chunk["type"] == "data-superseded" for chunk in batch.chunks)
        assert self._knows_log, f"{id} was given to a fresh reader before the log was read"
        if is_note:
            assert id.number < position.number, f"{id} takes nothing back from {position}"
        elif position != START:
            assert id.number == position.number + 1, f"{id} was given behind {position}"
        elif not self._is_filled(batch):
            assert id.number == 1, f"{id} was given first"
        newest = max(self._newest, self._known)
        if id.epoch < newest and not is_note:
            assert self._life.counts(id, newest), f"{id} was given though epoch {newest} was known"
        self._newest = max(self._newest, id.epoch)
        self._is_fresh = False

    def _is_filled(self, batch: WholeBatch) -> bool:
        """What the log lost came from Postgres: everything up to a commit in one batch, or the end."""
        return batch.chunks[0]["type"] == "start" and (len(batch.chunks) > 1 or batch.is_end)
