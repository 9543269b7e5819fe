"""Events about turns, in both directions."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar
from uuid import UUID

from contracts.event import Event


class TurnStatus(StrEnum):
    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"


FINAL = frozenset({TurnStatus.FINISHED, TurnStatus.FAILED, TurnStatus.STOPPED})
ACTIVE = frozenset({TurnStatus.QUEUED, TurnStatus.RUNNING})


class TurnRequested(Event):
    """A turn became `queued`. A wake-up, not an order: the runner asks Postgres whether there is anything to do."""

    name: ClassVar[str] = "turn.requested.v1"
    is_fact: ClassVar[bool] = False

    turn_id: UUID


class TurnCompleted(Event):
    """A turn reached a final state, whichever one. Memory, notifications and channels care."""

    name: ClassVar[str] = "turn.completed.v1"

    turn_id: UUID
    thread_id: UUID
    status: TurnStatus
    ended_by: str | None = None
