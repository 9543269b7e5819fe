"""The door to streams: begin one for a turn that is about to be made, or follow one that is there."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from nats.aio.client import Client

from contracts.batches import START, BatchId
from gateway.streams import notes
from gateway.streams.hub import Hub
from gateway.streams.limits import StreamLimits
from gateway.streams.log import LogReader
from gateway.streams.response import TurnStream
from gateway.streams.rows import TurnRow
from gateway.streams.viewer import Viewer
from store import Store

TURN_HEADER = "x-retinue-turn"


class CannotContinue(Exception):
    """The log does not go on from the client's position: it drops what it shows and asks from the start."""


class Streams:
    """All open streams of this process. `run` must be running while there are any."""

    def __init__(self, client: Client, store: Store, limits: StreamLimits) -> None:
        self._hub = Hub(client)
        self._reader = LogReader(client)
        self._store = store
        self._limits = limits

    @property
    def viewers(self) -> int:
        return self._hub.viewers

    async def run(self) -> None:
        """The clock of all streams, until cancelled."""
        await self._hub.run()

    def reset_all(self) -> int:
        """Break every stream, so that clients resume elsewhere; returns how many."""
        return self._hub.reset_all()

    async def begin(self, user_id: UUID, turn_id: UUID) -> Viewer:
        """Listen to a turn before anybody is told of it: then nothing needs to be looked up.

        Whoever begins hands the viewer to `response`, or to `end`.
        """
        viewer = self._viewer(user_id, turn_id, START)
        if await self._hub.join(viewer):
            viewer.expects_all()
        return viewer

    async def follow(self, user_id: UUID, turn_id: UUID, position: BatchId = START) -> Viewer | None:
        """A viewer from this position on; none if the client has the whole of a final turn already.

        Raises `CannotContinue`; for a position that is not the start also `StoreAway`, `LogAway` and `TurnGone`.
        """
        viewer = self._viewer(user_id, turn_id, position)
        await self._hub.join(viewer)
        if position == START:
            return viewer
        try:
            state = await viewer.prepare()
            if state.is_final and position == notes.end_of(state):
                self._hub.leave(viewer)
                return None
            if not viewer.can_continue(state):
                raise CannotContinue
        except BaseException:
            self._hub.leave(viewer)
            raise
        return viewer

    def end(self, viewer: Viewer) -> None:
        """The viewer is not wanted after all."""
        self._hub.leave(viewer)

    def response(self, viewer: Viewer, headers: Mapping[str, str] | None = None) -> TurnStream:
        """The response that shows the viewer's turn, named in its headers."""
        return TurnStream(viewer, self._hub.leave, {TURN_HEADER: str(viewer.turn_id), **(headers or {})})

    def _viewer(self, user_id: UUID, turn_id: UUID, position: BatchId) -> Viewer:
        row = TurnRow(self._store, user_id, turn_id)
        return Viewer(row, self._reader, self._limits, position)
