"""Dead letters: parked by a consumer's process, then listed, replayed or dropped by an operator.

Replaying writes an outbox row for `again.…`, a subject that this one consumer hears: others, who were done with a fact
long ago, do not get it twice. Dropping leaves an inbox row: there is nothing left to do, whatever still comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import orjson
from sqlalchemy import Row, Select, delete, func, literal, select, text, tuple_, update

from contracts.ids import uuid7
from contracts.subjects import CONSUMERS, ORIGIN_EVENT, ORIGIN_SUBJECT, ConsumerSpec, again_subject
from store import inbox, outbox
from store.models import DeadLetter
from store.outbox import OutboxMessage
from store.store import Session

State = Literal["parked", "replayed", "handled"]
STATES: tuple[State, ...] = ("parked", "replayed", "handled")


@dataclass(frozen=True, slots=True)
class Parked:
    """What a consumer's process knows when it gives up."""

    consumer: str
    stream: str
    subject: str
    event_id: UUID
    payload: bytes
    headers: dict[str, str]
    deliveries: int
    first_seen_at: datetime
    reason_type: str
    reason: str
    was_sent_again: bool


@dataclass(frozen=True, slots=True)
class LetterInfo:
    """A dead letter without its payload."""

    id: UUID
    consumer: str
    stream: str
    subject: str
    event_id: UUID
    deliveries: int
    first_seen_at: datetime
    last_seen_at: datetime
    reason_type: str
    reason: str
    parked_at: datetime
    state: State
    replayed_at: datetime | None
    handled_at: datetime | None
    payload_bytes: int


@dataclass(frozen=True, slots=True)
class Letter:
    info: LetterInfo
    headers: dict[str, str]
    payload: bytes


@dataclass(frozen=True, slots=True)
class Waiting:
    """Letters of a consumer that nobody has decided about; the age of the oldest in seconds."""

    consumer: str
    letters: int
    oldest: float


class BadCursor(ValueError):
    """A cursor that this server did not make."""


class NotReplayable(Exception):
    """There is nobody to replay it to, or nothing left to do."""


# What came by `again.…` has failed anew; a late copy of the first message must not undo an operator's replay.
_PARK = text("""
    insert into dead_letters as d (id, consumer, stream, subject, event_id, payload, headers, deliveries,
        first_seen_at, reason_type, reason)
    values (:id, :consumer, :stream, :subject, :event_id, :payload, cast(:headers as jsonb), :deliveries,
        :first_seen_at, :reason_type, :reason)
    on conflict (consumer, event_id) do update set
        last_seen_at = now(),
        deliveries = case when d.state <> 'parked' and :again then d.deliveries + excluded.deliveries
            else greatest(d.deliveries, excluded.deliveries) end,
        reason_type = excluded.reason_type,
        reason = excluded.reason,
        parked_at = case when d.state <> 'parked' and :again then now() else d.parked_at end,
        handled_at = case when :again then null else d.handled_at end,
        state = case when :again then 'parked' else d.state end
    returning parked_at = now()
""")

_PRUNE = text("""
    delete from dead_letters where id in (
        select id from dead_letters
        where state <> 'parked' and coalesce(handled_at, replayed_at) < now() - make_interval(secs => :keep)
        limit :limit)
""")


async def park(session: Session, parked: Parked) -> bool:
    """Keeps the event; whether it is parked now and was not before. One row, whoever parks it and how often."""
    values = {name: getattr(parked, name) for name in Parked.__slots__ if name not in ("was_sent_again", "headers")}
    values |= {"id": uuid7(), "headers": orjson.dumps(parked.headers).decode(), "again": parked.was_sent_again}
    return bool(await session.scalar(_PARK, values))


async def settle(session: Session, consumer: str, event_id: UUID) -> None:
    """What was sent again is worked on."""
    mine = (DeadLetter.consumer == consumer, DeadLetter.event_id == event_id, DeadLetter.state != "handled")
    await session.execute(update(DeadLetter).where(*mine).values(state="handled", handled_at=func.now()))


async def page(
    session: Session,
    *,
    consumer: str | None = None,
    state: State | None = None,
    before: str | None = None,
    limit: int = 50,
) -> tuple[list[LetterInfo], str | None]:
    """The latest parked first, and the `before` of the next page. Raises `BadCursor`."""
    query = _infos()
    if consumer is not None:
        query = query.where(DeadLetter.consumer == consumer)
    if state is not None:
        query = query.where(DeadLetter.state == state)
    if before is not None:
        # A place, not a letter: that one may be dropped while its page is being read.
        parked_at, letter_id = _read_cursor(before)
        query = query.where(
            tuple_(DeadLetter.parked_at, DeadLetter.id) < tuple_(literal(parked_at), literal(letter_id))
        )
    rows = await session.execute(query.order_by(DeadLetter.parked_at.desc(), DeadLetter.id.desc()).limit(limit + 1))
    found = [LetterInfo(*row) for row in rows]
    return (found, None) if len(found) <= limit else (found[:limit], _cursor(found[limit - 1]))


async def undecided(session: Session, consumer: str | None = None) -> list[UUID]:
    """Ids of all that are parked, the longest first."""
    query = select(DeadLetter.id).where(DeadLetter.state == "parked")
    if consumer is not None:
        query = query.where(DeadLetter.consumer == consumer)
    return list(await session.scalars(query.order_by(DeadLetter.parked_at, DeadLetter.id)))


async def get(session: Session, letter_id: UUID) -> Letter | None:
    query = _infos().add_columns(DeadLetter.headers, DeadLetter.payload).where(DeadLetter.id == letter_id)
    row: Row[*tuple[Any, ...]] | None = (await session.execute(query)).first()
    if row is None:
        return None
    *info, headers, payload = row
    return Letter(LetterInfo(*info), headers, payload)


async def replay(
    session: Session, letter_id: UUID, consumers: Iterable[ConsumerSpec] = CONSUMERS
) -> OutboxMessage | None:
    """Sends the event again, to its consumer alone; none if there is no such letter. Raises `NotReplayable`."""
    letter = await get(session, letter_id)
    if letter is None:
        return None
    info = letter.info
    spec = next((each for each in consumers if (each.stream, each.name) == (info.stream, info.consumer)), None)
    if spec is None:
        raise NotReplayable(f"There is no consumer {info.consumer} any more; it can only be dropped.")
    replayed = await session.execute(
        update(DeadLetter)
        .where(DeadLetter.id == letter_id, DeadLetter.state != "handled")
        .values(state="replayed", replayed_at=func.now())
    )
    if not replayed.rowcount:
        raise NotReplayable("It was replayed before, and handled.")
    # What the broker read in the headers is not said again: above all, the new message has an id of its own.
    kept = {key: value for key, value in letter.headers.items() if not key.lower().startswith("nats-")}
    headers = kept | {ORIGIN_SUBJECT: info.subject, ORIGIN_EVENT: str(info.event_id)}
    message = OutboxMessage(again_subject(spec), letter.payload, headers=headers)
    await outbox.write(session, [message])
    return message


async def drop(session: Session, letter_id: UUID) -> bool:
    """Forgets the event for good; whether there was such a letter."""
    dropped = (
        await session.execute(
            delete(DeadLetter).where(DeadLetter.id == letter_id).returning(DeadLetter.consumer, DeadLetter.event_id)
        )
    ).first()
    if dropped is None:
        return False
    await inbox.record(session, dropped.consumer, dropped.event_id)
    return True


async def waiting(session: Session) -> list[Waiting]:
    """What nobody has decided about, by consumer."""
    age = func.extract("epoch", func.now() - func.min(DeadLetter.parked_at))
    query = select(DeadLetter.consumer, func.count(), age).where(DeadLetter.state == "parked")
    rows = await session.execute(query.group_by(DeadLetter.consumer))
    return [Waiting(consumer, letters, float(oldest)) for consumer, letters, oldest in rows]


async def prune(session: Session, keep: timedelta, limit: int = 1000) -> int:
    """Drops letters whose replay is older than `keep`; what nobody decided about stays."""
    return (await session.execute(_PRUNE, {"keep": keep.total_seconds(), "limit": limit})).rowcount


def _cursor(info: LetterInfo) -> str:
    return f"{info.parked_at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}~{info.id}"


def _read_cursor(cursor: str) -> tuple[datetime, UUID]:
    moment, _, letter_id = cursor.partition("~")
    try:
        return datetime.strptime(moment, "%Y%m%dT%H%M%S.%fZ").replace(tzinfo=UTC), UUID(letter_id)
    except ValueError as wrong:
        raise BadCursor(cursor) from wrong


def _infos() -> Select[*tuple[Any, ...]]:
    columns: Sequence[Any] = [getattr(DeadLetter, name) for name in LetterInfo.__slots__ if name != "payload_bytes"]
    return select(*columns, func.octet_length(DeadLetter.payload))
