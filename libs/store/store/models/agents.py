"""Agents. Written by the gateway."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from store.models.base import Model


class Agent(Model):
    __tablename__ = "agents"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str]
    role: Mapped[str]
    standing_orders: Mapped[str]
    model: Mapped[str | None]
    """`provider/model`, or none for the deployment's default."""
    max_steps: Mapped[int]
    is_default: Mapped[bool]
    created_at: Mapped[datetime]
    archived_at: Mapped[datetime | None]
