"""Searching what was said in a user's threads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from store.repositories import threads
from store.repositories.threads import BadCursor, ThreadInfo
from store.repositories.words import Excerpt, Wanted, excerpt
from store.store import Session


@dataclass(frozen=True, slots=True)
class Hit:
    thread: ThreadInfo
    message_id: str
    """As clients see it."""
    role: str
    at: datetime
    excerpt: Excerpt


# Two statements: what is found is few, and nobody shall plan as if it were many.
_FIND = text("""
    select message_id from retinue_search(cast(:phrases as text[]), :is_prefix, cast(:before as uuid), :most)
""")

_SAID = text("""
    select m.id, coalesce(m.client_id, m.id::text) as named, m.thread_id, m.role, m.created_at,
        left(string_agg(p.data->>'text', ' ' order by p.ordinal), 100000) as said
    from messages m join message_parts p on p.message_id = m.id and p.kind = 'text'
    where m.id = any(:found)
    group by m.id order by m.id desc
""")


async def search(
    session: Session, looked_for: Wanted, *, before: str | None, limit: int
) -> tuple[list[Hit], str | None]:
    """Messages that say all of it, the newest first, and the cursor of the next page. Raises `BadCursor`.

    What is in deleted threads is not found.
    """
    reached = None if before is None else _cursor(before)
    if not looked_for.phrases:
        return [], None
    asked: dict[str, Any] = {"phrases": list(looked_for.phrases), "is_prefix": looked_for.is_prefix}
    rows = await session.execute(_FIND, asked | {"before": reached, "most": limit + 1})
    found = sorted((row.message_id for row in rows), reverse=True)
    shown = found[:limit]
    said = (await session.execute(_SAID, {"found": shown})).all()
    about = await threads.get_many(session, {row.thread_id for row in said})
    hits = [
        Hit(about[row.thread_id], row.named, row.role, row.created_at, excerpt(row.said, looked_for))
        for row in said
        if row.thread_id in about
    ]
    return hits, (str(shown[-1]) if len(found) > limit else None)


def _cursor(before: str) -> UUID:
    try:
        return UUID(before)
    except ValueError:
        raise BadCursor(before) from None
