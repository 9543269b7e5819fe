"""Threads, messages and their parts.

The gateway writes threads; the door writes people's messages; the turn-runner writes the parts of answers, and a
thread's preview and title.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.orm import Mapped, mapped_column

from store.models.base import Model


class Thread(Model):
    __tablename__ = "threads"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    agent_id: Mapped[UUID] = mapped_column(ForeignKey("agents.id"))
    channel: Mapped[str]
    client_id: Mapped[str | None]
    """The chat id that an AI SDK client made up; unique per user, never a key of ours."""
    title: Mapped[str | None]
    preview: Mapped[str | None]
    created_at: Mapped[datetime]
    touched_at: Mapped[datetime]
    archived_at: Mapped[datetime | None]
    model: Mapped[str | None]
    """What answers here, instead of the agent's."""
    effort: Mapped[str | None]
    deleted_at: Mapped[datetime | None]
    """Shown nowhere any more; it may be brought back until the sweep takes it for good."""


class Message(Model):
    __tablename__ = "messages"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    thread_id: Mapped[UUID] = mapped_column(ForeignKey("threads.id", ondelete="CASCADE"))
    ordinal: Mapped[int]
    """Place in the thread: a question's answer follows it at once, also while later questions wait."""
    role: Mapped[str]
    client_id: Mapped[str | None]
    data: Mapped[dict[str, Any]]
    """The client's own metadata, kept as it came."""
    created_at: Mapped[datetime]


class MessagePart(Model):
    __tablename__ = "message_parts"

    message_id: Mapped[UUID] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"), primary_key=True)
    ordinal: Mapped[int] = mapped_column(primary_key=True)
    step: Mapped[int]
    kind: Mapped[str]
    data: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The part as the AI SDK shapes it; of a tool call only what never changes, the rest is its `tool_calls` row."""
    call_id: Mapped[UUID | None] = mapped_column(ForeignKey("tool_calls.id", ondelete="CASCADE"))
