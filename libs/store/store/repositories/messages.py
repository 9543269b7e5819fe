"""Messages as clients see them: `UIMessage` dictionaries in pages."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import text

from store.store import Session
from store.turns.endings import metadata
from store.turns.parts import stored_parts

UIMessage = dict[str, Any]

_PAGE = text("""
    select m.id, m.ordinal, m.role, m.client_id, m.data, t.id as turn_id, t.status,
        case when t.ended_at is not null then t.ended_by end as ended_by, t.error,
        t.stop_requested_at,
        case when t.status = 'waiting' then (
            select count(*) from turns w
            where w.user_id = t.user_id and w.status = 'waiting' and (w.accepted_at, w.id) <= (t.accepted_at, t.id)
        ) end as position
    from messages m
    left join lateral (
        select id, user_id, accepted_at, status, ended_at, ended_by, error, stop_requested_at from turns
        where message_id = m.id order by accepted_at desc limit 1) t on true
    where m.thread_id = :thread and (cast(:before as integer) is null or m.ordinal < :before)
    order by m.ordinal desc limit :limit
""")


async def page(
    session: Session, thread_id: UUID, before: int | None = None, limit: int = 50
) -> tuple[list[UIMessage], int | None]:
    """The newest messages before an ordinal, ascending, and the ordinal to ask before for the next older page.

    A turn's message is there from its acceptance, with the parts committed so far and its turn's status in
    `metadata.retinue`, and its place in the user's line while it waits.
    """
    rows = (await session.execute(_PAGE, {"thread": thread_id, "before": before, "limit": limit + 1})).all()
    more = len(rows) > limit
    rows = rows[:limit][::-1]
    parts = await stored_parts(session, [row.id for row in rows])
    items: list[UIMessage] = []
    for row in rows:
        message: UIMessage = {"id": row.client_id or str(row.id), "role": row.role, "parts": parts[row.id]}
        about: dict[str, Any] = dict(row.data)
        if row.turn_id is not None:
            about |= metadata(row.turn_id, row.status, row.ended_by, row.error)
            if row.position is not None:
                about["retinue"]["position"] = row.position
        if about:
            message["metadata"] = about
        items.append(message)
    return items, (rows[0].ordinal if more and rows else None)
