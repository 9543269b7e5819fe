"""Agents. Written by the gateway."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Text
from sqlalchemy.dialects.postgresql import ARRAY
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
    """`provider/model` or an alias; none for the user's default."""
    effort: Mapped[str | None]
    """How hard the model shall think, in its provider's words; sent only where the catalogue lists it."""
    fallback_models: Mapped[list[str]] = mapped_column(ARRAY(Text))
    """Whom to ask next when the model fails, in order."""
    capabilities: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    """Names of tools; none means all that the channel has."""
    glyph: Mapped[str]
    """The seed of its picture; never shown as text."""
    max_steps: Mapped[int]
    is_default: Mapped[bool]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    archived_at: Mapped[datetime | None]
