"""The inbox: which events a consumer is done with, written in the transaction of the effect.

A redelivery, a replay or a second process then finds the row and does nothing twice.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from store.models import InboxRow
from store.store import Session


async def record(session: Session, consumer: str, event_id: UUID) -> bool:
    """Marks the event as done and says whether it was not yet; then its effect belongs into this transaction.

    While another transaction does the same event, this one waits to see whether that one commits.
    """
    made = await session.execute(insert(InboxRow).values(consumer=consumer, event_id=event_id).on_conflict_do_nothing())
    return made.rowcount == 1


async def is_done(session: Session, consumer: str, event_id: UUID) -> bool:
    """Whether the effect of this event is committed, or an operator decided that there shall be none."""
    row = select(InboxRow.event_id).where(InboxRow.consumer == consumer, InboxRow.event_id == event_id)
    return bool(await session.scalar(select(row.exists())))
