"""Messages as clients see them: `UIMessage` dictionaries in pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from store.store import Session
from store.turns.endings import metadata
from store.turns.parts import stored_parts

UIMessage = dict[str, Any]

_MESSAGES = """
    select m.id, m.ordinal, m.role, m.client_id, m.data, t.id as turn_id, t.status,
        case when t.ended_at is not null then t.ended_by end as ended_by, t.error,
        t.model, t.stop_requested_at,
        case when t.status = 'waiting' then (
            select count(*) from turns w
            where w.user_id = t.user_id and w.status = 'waiting' and (w.accepted_at, w.id) <= (t.accepted_at, t.id)
        ) end as position
    from messages m
    left join lateral (
        select id, user_id, accepted_at, status, ended_at, ended_by, error, model, stop_requested_at from turns
        where message_id = m.id order by accepted_at desc limit 1) t on true
    where m.thread_id = :thread
"""

_OLDER = text(
    _MESSAGES + "and (cast(:before as integer) is null or m.ordinal < :before) order by m.ordinal desc limit :limit"
)

_NEWER = text(_MESSAGES + "and m.ordinal > :after order by m.ordinal limit :limit")

_PLACE = text("""
    select ordinal from messages where thread_id = :thread and (client_id = :named or id = cast(:id as uuid))
    order by client_id = :named desc nulls last limit 1
""")


@dataclass(frozen=True, slots=True)
class Window:
    """Messages in a row, ascending; `older` and `newer` are the ordinals to ask before and after for more, if any."""

    items: list[UIMessage]
    older: int | None
    newer: int | None


async def page(
    session: Session, thread_id: UUID, before: int | None = None, limit: int = 50
) -> tuple[list[UIMessage], int | None]:
    """The newest messages before an ordinal, ascending, and the ordinal to ask before for the next older page.

    A turn's message is there from its acceptance, with the parts committed so far and its turn's status in
    `metadata.retinue`, and its place in the user's line while it waits.
    """
    rows, has_more = await _older(session, thread_id, before, limit)
    return await _shown(session, rows), (rows[0].ordinal if has_more else None)


async def page_after(session: Session, thread_id: UUID, after: int, limit: int = 50) -> Window:
    """The messages that follow an ordinal."""
    rows, has_more = await _newer(session, thread_id, after, limit)
    return Window(
        await _shown(session, rows), rows[0].ordinal if rows else None, rows[-1].ordinal if has_more else None
    )


async def page_around(session: Session, thread_id: UUID, message: str, limit: int = 50) -> Window | None:
    """A message, named as clients see it, with what stands on both sides; none if the thread has no such message."""
    named = {"thread": thread_id, "named": message.replace("\0", ""), "id": _uuid(message)}
    place = await session.scalar(_PLACE, named)
    if place is None:
        return None
    before, has_older = await _older(session, thread_id, place + 1, limit - limit // 2)
    behind, has_newer = await _newer(session, thread_id, place, limit // 2)
    rows = [*before, *behind]
    items = await _shown(session, rows)
    return Window(items, rows[0].ordinal if has_older else None, rows[-1].ordinal if has_newer else None)


async def _older(session: Session, thread_id: UUID, before: int | None, limit: int) -> tuple[list[Any], bool]:
    rows = (await session.execute(_OLDER, {"thread": thread_id, "before": before, "limit": limit + 1})).all()
    return list(rows[:limit][::-1]), len(rows) > limit


async def _newer(session: Session, thread_id: UUID, after: int, limit: int) -> tuple[list[Any], bool]:
    rows = (await session.execute(_NEWER, {"thread": thread_id, "after": after, "limit": limit + 1})).all()
    return list(rows[:limit]), len(rows) > limit


async def _shown(session: Session, rows: Sequence[Any]) -> list[UIMessage]:
    parts = await stored_parts(session, [row.id for row in rows])
    items: list[UIMessage] = []
    for row in rows:
        message: UIMessage = {"id": row.client_id or str(row.id), "role": row.role, "parts": parts[row.id]}
        about: dict[str, Any] = dict(row.data)
        if row.turn_id is not None:
            about |= metadata(row.turn_id, row.status, row.ended_by, row.error, row.model)
            if row.position is not None:
                about["retinue"]["position"] = row.position
        if about:
            message["metadata"] = about
        items.append(message)
    return items


def _uuid(named: str) -> UUID | None:
    try:
        return UUID(named)
    except ValueError:
        return None
