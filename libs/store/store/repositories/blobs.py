"""A user's references to blobs: the only names by which blobs are reached from outside."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from store.store import Session


@dataclass(frozen=True, slots=True)
class BlobRef:
    """One person's name for a blob. `name` is what the file is called when it is saved."""

    id: UUID
    hash: bytes
    size: int
    name: str
    media_type: str


_REFER = text("""
    insert into blob_references (id, user_id, hash, size, thread_id, turn_id, call_id, name, media_type)
    values (:id, :user, :hash, :size, :thread, :turn, :call, :name, :media_type)
    on conflict (id) do nothing
""")

_GET = text("select id, hash, size, name, media_type from blob_references where id = :id")


async def refer(
    session: Session,
    ref: BlobRef,
    *,
    user_id: UUID,
    thread_id: UUID | None = None,
    turn_id: UUID | None = None,
    call_id: UUID | None = None,
) -> None:
    """The blob belongs to this thread, turn or call from now on, and goes when that does; safe to repeat.

    The blob is kept already: told to `store.system.blobs.want` less than a day ago, and written since.
    """
    await session.execute(
        _REFER,
        {
            "id": ref.id,
            "user": user_id,
            "hash": ref.hash,
            "size": ref.size,
            "thread": thread_id,
            "turn": turn_id,
            "call": call_id,
            "name": ref.name,
            "media_type": ref.media_type,
        },
    )


async def get(session: Session, reference_id: UUID) -> BlobRef | None:
    """None if there is no such reference, or it is another user's."""
    row = (await session.execute(_GET, {"id": reference_id})).one_or_none()
    return None if row is None else BlobRef(row.id, bytes(row.hash), row.size, row.name, row.media_type)
