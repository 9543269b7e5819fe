"""The two tables that make events safe: what must still be said, and what was already heard."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from store.models.base import Model


class OutboxRow(Model):
    """A message for the bus, written in the transaction that made it true."""

    __tablename__ = "outbox"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    """Also the `Nats-Msg-Id`."""
    subject: Mapped[str]
    payload: Mapped[bytes] = mapped_column(LargeBinary)
    headers: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    sent_at: Mapped[datetime | None]


class InboxRow(Model):
    """An event whose effect is in the database, written in the transaction of that effect."""

    __tablename__ = "inbox"

    consumer: Mapped[str] = mapped_column(primary_key=True)
    event_id: Mapped[UUID] = mapped_column(primary_key=True)
    done_at: Mapped[datetime]
