"""Events that a consumer could not work on. Written by whichever service parks one; an operator decides about it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from store.models.base import Model


class DeadLetter(Model):
    """One event that one consumer could not work on; unique by the two, however often it comes."""

    __tablename__ = "dead_letters"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    consumer: Mapped[str]
    stream: Mapped[str]
    subject: Mapped[str]
    event_id: Mapped[UUID]
    payload: Mapped[bytes] = mapped_column(LargeBinary)
    headers: Mapped[dict[str, Any]]
    deliveries: Mapped[int]
    first_seen_at: Mapped[datetime]
    """Since when the bus keeps it."""
    last_seen_at: Mapped[datetime]
    reason_type: Mapped[str]
    reason: Mapped[str]
    parked_at: Mapped[datetime]
    state: Mapped[str]
    """parked; replayed: sent again, outcome unknown yet; handled: worked on after a replay."""
    replayed_at: Mapped[datetime | None]
    handled_at: Mapped[datetime | None]
