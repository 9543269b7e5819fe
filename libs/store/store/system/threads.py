"""Deleted threads, taken for good once nobody can want them back."""

from __future__ import annotations

from sqlalchemy import text

from store.store import Session

# One that is still being answered waits: whoever deleted it has asked that to stop.
_PURGE = text("""
    delete from threads where id in (
        select t.id from threads t
        where t.deleted_at < clock_timestamp() - make_interval(secs => :age) and not exists (
            select from turns a where a.thread_id = t.id and a.status in ('waiting', 'queued', 'running'))
        order by t.deleted_at limit :limit)
        and deleted_at < clock_timestamp() - make_interval(secs => :age)  -- asked again of what is restored meanwhile
    returning id
""")


async def purge_deleted(session: Session, older_than: float, limit: int = 10) -> int:
    """Takes up to `limit` threads that were deleted more than `older_than` seconds ago, with all that was said in
    them; returns how many. What they used stays in the ledger.
    """
    return len((await session.execute(_PURGE, {"age": older_than, "limit": limit})).all())
