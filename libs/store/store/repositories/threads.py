"""A user's threads: made, listed by what happened last, changed, put away, deleted and brought back."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Select, case, func, insert, literal, select, tuple_, update

from contracts.ids import uuid7
from store.models import Thread, Turn
from store.store import Session

_CURSOR = struct.Struct("!BQ16s")  # version, microseconds since 1970, id
_CURSOR_VERSION = 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BadCursor(ValueError):
    """A cursor that this server did not make."""


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    id: UUID
    agent_id: UUID
    channel: str
    title: str | None
    preview: str | None
    created_at: datetime
    touched_at: datetime
    is_archived: bool
    model: str | None
    effort: str | None
    is_deleted: bool
    status: str | None
    """What its turns are doing: running, queued, waiting; failed if the newest one did; else nothing."""


async def page(
    session: Session,
    *,
    before: str | None,
    limit: int,
    archived: bool = False,
    deleted: bool = False,
    agent_id: UUID | None = None,
) -> tuple[list[ThreadInfo], str | None]:
    """Threads with the most recently touched first, and the cursor of the next page. Raises `BadCursor`.

    Deleted ones are in no list but their own, archived or not.
    """
    query = _threads().where(Thread.deleted_at.is_not(None) if deleted else Thread.deleted_at.is_(None))
    if not deleted:
        query = query.where(Thread.archived_at.is_not(None) if archived else Thread.archived_at.is_(None))
    if agent_id is not None:
        query = query.where(Thread.agent_id == agent_id)
    if before is not None:
        touched_at, thread_id = _read_cursor(before)
        query = query.where(tuple_(Thread.touched_at, Thread.id) < tuple_(literal(touched_at), literal(thread_id)))
    rows = await session.execute(query.order_by(Thread.touched_at.desc(), Thread.id.desc()).limit(limit + 1))
    threads = [ThreadInfo(*row) for row in rows]
    if len(threads) <= limit:
        return threads, None
    shown = threads[:limit]
    return shown, _cursor(shown[-1])


async def get(session: Session, thread_id: UUID) -> ThreadInfo | None:
    row = (await session.execute(_threads().where(Thread.id == thread_id))).first()
    return ThreadInfo(*row) if row else None


async def get_many(session: Session, thread_ids: Collection[UUID]) -> dict[UUID, ThreadInfo]:
    rows = await session.execute(_threads().where(Thread.id.in_(thread_ids)))
    return {row[0]: ThreadInfo(*row) for row in rows}


async def create(
    session: Session,
    *,
    user_id: UUID,
    agent_id: UUID,
    title: str | None = None,
    model: str | None = None,
    effort: str | None = None,
    channel: str = "web",
) -> UUID:
    thread_id = uuid7()
    values = {"title": title, "model": model, "effort": effort, "channel": channel}
    await session.execute(insert(Thread).values(id=thread_id, user_id=user_id, agent_id=agent_id, **values))
    return thread_id


async def change(session: Session, thread_id: UUID, values: Mapping[str, Any]) -> None:
    """Sets title, model or effort, whichever is named; null takes away."""
    if values:
        await session.execute(update(Thread).where(Thread.id == thread_id).values(**values))


async def archive(session: Session, thread_id: UUID) -> None:
    """Put away; a thread that is already keeps its time."""
    await session.execute(
        update(Thread).where(Thread.id == thread_id).values(archived_at=func.coalesce(Thread.archived_at, func.now()))
    )


async def unarchive(session: Session, thread_id: UUID) -> None:
    await session.execute(update(Thread).where(Thread.id == thread_id).values(archived_at=None))


async def delete(session: Session, thread_id: UUID) -> None:
    """Shown nowhere any more, until it is restored or taken for good; one that is deleted already keeps its time."""
    await session.execute(
        update(Thread).where(Thread.id == thread_id).values(deleted_at=func.coalesce(Thread.deleted_at, func.now()))
    )


async def restore(session: Session, thread_id: UUID) -> None:
    """Where it was before: among the archived ones, if it was one of them."""
    await session.execute(update(Thread).where(Thread.id == thread_id).values(deleted_at=None))


def _threads() -> Select[*tuple[Any, ...]]:
    active = (
        select(Turn.status)
        .where(Turn.thread_id == Thread.id, Turn.status.in_(("running", "queued", "waiting")))
        .order_by(case({"running": 0, "queued": 1}, value=Turn.status, else_=2))
        .limit(1)
        .scalar_subquery()
    )
    newest = (
        select(Turn.status)
        .where(Turn.thread_id == Thread.id)
        .order_by(Turn.accepted_at.desc(), Turn.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    failed = case((newest == "failed", "failed"), else_=None)
    return select(
        Thread.id,
        Thread.agent_id,
        Thread.channel,
        Thread.title,
        Thread.preview,
        Thread.created_at,
        Thread.touched_at,
        Thread.archived_at.is_not(None),
        Thread.model,
        Thread.effort,
        Thread.deleted_at.is_not(None),
        func.coalesce(active, failed),
    )


def _cursor(thread: ThreadInfo) -> str:
    micros = (thread.touched_at - _EPOCH) // timedelta(microseconds=1)
    packed = _CURSOR.pack(_CURSOR_VERSION, micros, thread.id.bytes)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _read_cursor(cursor: str) -> tuple[datetime, UUID]:
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        version, micros, thread_id = _CURSOR.unpack(packed)
        if version != _CURSOR_VERSION:
            raise BadCursor(cursor)
        return _EPOCH + timedelta(microseconds=micros), UUID(bytes=thread_id)
    except (binascii.Error, struct.error, OverflowError, ValueError) as wrong:
        raise BadCursor(cursor) from wrong
