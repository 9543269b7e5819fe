"""What Postgres says of a turn, each look a transaction of its own: nothing is held while a stream is open."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from store import Store
from store.turns import TurnState, state, stored_parts

_TRIES = 5

Part = dict[str, Any]


class TurnGone(Exception):
    """The turn's row is no longer there: its thread was deleted."""


class TurnRow:
    """One turn, seen as its user."""

    def __init__(self, store: Store, user_id: UUID, turn_id: UUID) -> None:
        self.turn_id = turn_id
        self._store = store
        self._user_id = user_id

    async def state(self) -> TurnState:
        """Raises `TurnGone`, or `StoreAway`."""
        async with self._store.session(self._user_id) as session:
            found = await state(session, self.turn_id)
        if found is None:
            raise TurnGone
        return found

    async def message(self) -> tuple[TurnState, list[Part]]:
        """The state and the parts that were committed with it: read between two looks at an unchanged row."""
        before = await self.state()
        for _ in range(_TRIES):
            async with self._store.session(self._user_id) as session:
                parts = await stored_parts(session, [before.message_id])
                after = await state(session, self.turn_id)
            if after is None:
                raise TurnGone
            if (after.epoch, after.commit, after.status) == (before.epoch, before.commit, before.status):
                return after, parts[after.message_id]
            before = after
        raise TurnBusy


class TurnBusy(Exception):
    """The turn committed again and again while its message was read; the next look will do."""
