"""Looking at a turn from outside: what a reader of its log needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from contracts.batches import BatchId
from contracts.turns import FINAL, TurnStatus
from store.store import Session


@dataclass(frozen=True, slots=True)
class TurnState:
    id: UUID
    thread_id: UUID
    message_id: UUID
    status: TurnStatus
    epoch: int
    commit: BatchId
    """The last commit: the cut of every epoch after the one that made it."""
    ended_by: str | None
    error: dict[str, Any] | None
    stop_requested: bool
    position: int | None
    """Place in the user's queue, from 1, while it waits."""
    model: str | None = None
    """Who was asked last."""

    @property
    def is_final(self) -> bool:
        return self.status in FINAL


_COLUMNS = """
    select t.id, t.thread_id, t.message_id, t.status, t.epoch, t.commit_epoch, t.commit_number, t.ended_by, t.error,
        t.model, t.stop_requested_at is not null as stop_requested,
        case when t.status = 'waiting' then (
            select count(*) from turns w
            where w.user_id = t.user_id and w.status = 'waiting' and (w.accepted_at, w.id) <= (t.accepted_at, t.id)
        ) end as position
    from turns t
"""

_ONE = text(_COLUMNS + "where t.id = :turn")

_CURRENT = text(
    _COLUMNS
    + """
    where t.thread_id = :thread and t.status in ('waiting', 'queued', 'running')
    order by t.status = 'waiting', t.accepted_at, t.id limit 1
"""
)


# Whoever asks a running turn to stop notes why where its end will be noted.
_STOP_REASON = text("select ended_by from turns where id = :turn and status in ('queued', 'running')")


def _state(row: Any) -> TurnState:
    return TurnState(
        id=row.id,
        thread_id=row.thread_id,
        message_id=row.message_id,
        status=TurnStatus(row.status),
        epoch=row.epoch,
        commit=BatchId(row.commit_epoch, row.commit_number),
        ended_by=row.ended_by,
        error=row.error,
        stop_requested=row.stop_requested,
        position=row.position,
        model=row.model,
    )


async def state(session: Session, turn_id: UUID) -> TurnState | None:
    row = (await session.execute(_ONE, {"turn": turn_id})).one_or_none()
    return None if row is None else _state(row)


async def stop_reason(session: Session, turn_id: UUID) -> str:
    """Why a turn that is to stop shall do so: `user`, or `replaced` by a newer message."""
    return (await session.execute(_STOP_REASON, {"turn": turn_id})).scalar_one_or_none() or "user"


async def current(session: Session, thread_id: UUID) -> TurnState | None:
    """The thread's active turn, else the one that waits longest, else None."""
    row = (await session.execute(_CURRENT, {"thread": thread_id})).one_or_none()
    return None if row is None else _state(row)
