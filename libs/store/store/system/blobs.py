"""Which blobs are wanted, and which nobody refers to any more.

Keeping a blob is: `want` it in a transaction of its own, then put the bytes in their place, then refer to it. The
sweep takes rows that nobody refers to and nobody has wanted for a day, and deletes the bytes before it commits; a
`want` of the same blob waits for that, so that the bytes are put in their place after it, never before.
"""

from __future__ import annotations

from sqlalchemy import text

from store.store import Session

_WANT = text("""
    insert into blobs (hash, size) values (:hash, :size)
    on conflict (hash) do update set wanted_at = clock_timestamp()
""")

_DROP = text("""
    delete from blobs where hash in (
        select b.hash from blobs b
        where b.wanted_at < clock_timestamp() - make_interval(secs => :age)
            and not exists (select from blob_references r where r.hash = b.hash)
        order by b.wanted_at limit :batch for update skip locked)
    returning hash
""")


async def want(session: Session, hash: bytes, size: int) -> None:
    """Somebody is about to keep these bytes; the sweep leaves them alone for a day."""
    await session.execute(_WANT, {"hash": hash, "size": size})


async def drop_unreferenced(session: Session, older_than: float, limit: int = 50) -> list[bytes]:
    """Drops the rows of up to `limit` blobs that nobody refers to, and returns their hashes.

    Delete the bytes before this transaction ends.
    """
    rows = await session.execute(_DROP, {"age": older_than, "batch": limit})
    return [bytes(row.hash) for row in rows]
