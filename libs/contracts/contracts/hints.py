"""Hints: "look again", said to the open pages of one user, over core NATS.

A hint is no event: nobody keeps it, nobody acts on it, and whoever misses one is told `sync` when it connects again.
It says where to look and never what is there. Ends of turns are facts already (`turn.completed.v1`) and not said twice.
"""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

HintKind = Literal["turn", "thread", "agents", "settings"]


class Hint(BaseModel):
    """What changed, and whose it is."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: HintKind
    user_id: UUID
    thread_id: UUID | None = None
    turn_id: UUID | None = None
    status: str | None = None
    """Of a turn."""

    @classmethod
    def of_turn(cls, user_id: UUID, thread_id: UUID, turn_id: UUID, status: str) -> Hint:
        return cls(kind="turn", user_id=user_id, thread_id=thread_id, turn_id=turn_id, status=status)

    @classmethod
    def of_thread(cls, user_id: UUID, thread_id: UUID) -> Hint:
        """Its title, its place or its being there."""
        return cls(kind="thread", user_id=user_id, thread_id=thread_id)

    def to_bytes(self) -> bytes:
        return self.model_dump_json(exclude_none=True).encode()
