"""Blobs and the references to them. The bytes are in the blob store (`libs/blobs`), under their hash.

The turn-runner writes both tables; the gateway reads the references.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from store.models.base import Model


class Blob(Model):
    """Bytes that the blob store has, or is about to have; nobody's, and everybody's who has a reference."""

    __tablename__ = "blobs"

    hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    """SHA-256 of the bytes."""
    size: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime]
    wanted_at: Mapped[datetime]
    """When somebody last began to keep it; unreferenced for a day after that, it goes."""


class BlobReference(Model):
    """One person's name for a blob, and the only way to it from outside."""

    __tablename__ = "blob_references"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    hash: Mapped[bytes] = mapped_column(ForeignKey("blobs.hash"))
    size: Mapped[int] = mapped_column(BigInteger)
    """Of the blob, so that nobody who looks at references needs the other table."""
    thread_id: Mapped[UUID | None] = mapped_column(ForeignKey("threads.id", ondelete="CASCADE"))
    turn_id: Mapped[UUID | None] = mapped_column(ForeignKey("turns.id", ondelete="CASCADE"))
    call_id: Mapped[UUID | None] = mapped_column(ForeignKey("tool_calls.id", ondelete="CASCADE"))
    name: Mapped[str]
    """What the file is called when it is saved."""
    media_type: Mapped[str]
    created_at: Mapped[datetime]
