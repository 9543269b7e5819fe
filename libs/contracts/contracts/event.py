"""The envelope that every event travels in.

It is part of the body, so a stored, parked or replayed message still explains itself. Type and version are the
subject (`turn.requested.v1`); `id` is also the `Nats-Msg-Id`; `traceparent` rides in the headers. Fields may only
be added, and only as optional ones: anything else is a new version beside the old.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from contracts.ids import uuid7

EVENTS: dict[str, type[Event]] = {}
"""Every released event by `noun.verb.vN`; contract tests walk it."""


class Event(BaseModel):
    """Base of all events: who it is about, when it happened, and what caused it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: ClassVar[str] = ""
    """`noun.verb.vN`: past tense for a fact, `*.requested` for a request."""
    is_fact: ClassVar[bool] = True

    id: UUID = Field(default_factory=uuid7)
    occurred_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    user_id: UUID
    correlation_id: str | None = None
    causation_id: UUID | None = None

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)  # pyright: ignore[reportArgumentType]
        if cls.name:
            EVENTS[cls.name] = cls

    def subject(self) -> str:
        """Where it is published: facts carry the user, so that a subscriber can follow one user alone."""
        return f"fact.{self.user_id}.{self.name}" if self.is_fact else self.name

    def to_bytes(self) -> bytes:
        return self.model_dump_json(exclude_none=True).encode()
