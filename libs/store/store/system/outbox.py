"""What the relay asks of the outbox: take what is unsent, mark what the bus has, drop what is old."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import ARRAY, Interval, Uuid, bindparam, func, select, text, update

from store.models.outbox import OutboxRow
from store.store import Session


@dataclass(frozen=True)
class Unsent:
    """One row that nobody has acknowledged yet; `age` in seconds."""

    id: UUID
    subject: str
    payload: bytes
    headers: dict[str, str]
    age: float


_AGE = func.extract("epoch", func.now() - OutboxRow.created_at)
_TAKE = (
    select(OutboxRow.id, OutboxRow.subject, OutboxRow.payload, OutboxRow.headers, _AGE)
    .where(OutboxRow.sent_at.is_(None))
    .where(OutboxRow.created_at <= func.now() - bindparam("older_than", type_=Interval))
    .where(OutboxRow.id != func.all(bindparam("skip", type_=ARRAY(Uuid))))
    .order_by(OutboxRow.created_at)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)


async def take(session: Session, limit: int, *, older_than: float = 1.0, skip: Collection[UUID] = ()) -> list[Unsent]:
    """Up to `limit` unsent rows at least `older_than` seconds old, the oldest first, locked until the transaction ends.

    Rows that another relay holds are passed over (`SKIP LOCKED`), and so are those in `skip`. Never "id greater than
    the last": transactions commit out of order, and a row that became visible late would be lost.
    """
    found = await session.execute(
        _TAKE, {"older_than": timedelta(seconds=older_than), "skip": list(skip), "limit": limit}
    )
    return [
        Unsent(id, subject, payload, {str(key): str(value) for key, value in headers.items()}, float(age))
        for id, subject, payload, headers, age in found
    ]


async def mark_sent(session: Session, ids: Sequence[UUID]) -> int:
    """The bus has these rows; returns how many were not marked before."""
    marked = await session.execute(
        update(OutboxRow).where(OutboxRow.id.in_(ids), OutboxRow.sent_at.is_(None)).values(sent_at=func.now())
    )
    return marked.rowcount


# The literals are those of the two partial indexes, one for each age.
_PRUNE = tuple(
    text(f"""
        delete from outbox where id in (
            select id from outbox
            where sent_at is not null and subject {kind} 'fact.%' and sent_at < now() - cast(:{keep} as interval)
            limit :limit for update skip locked)
    """)  # noqa: S608 - both words are ours
    for kind, keep in (("not like", "others"), ("like", "facts"))
)


async def prune(session: Session, older_than: float, limit: int = 1000, *, facts_older_than: float = 0) -> int:
    """Drop up to twice `limit` rows that were sent more than `older_than` seconds ago; returns how many.

    Facts stay for at least `facts_older_than` seconds: they are what lost ones are found in (`store.system.facts`).
    """
    facts = max(older_than, facts_older_than)
    values = {"others": timedelta(seconds=older_than), "facts": timedelta(seconds=facts), "limit": limit}
    return sum([(await session.execute(each, values)).rowcount for each in _PRUNE])
