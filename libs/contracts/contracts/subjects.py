"""Subjects and streams of the bus: the one file that says what is kept where, for how long, and when it is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

MAX_PAYLOAD = 8 * 1024 * 1024
"""Bytes; the broker's limit everywhere. What comes near it is refused where it is made."""

DUPLICATE_WINDOW = 300
"""Seconds in which JetStream drops a second message with the same `Nats-Msg-Id`."""

TURN_REQUESTED = "turn.requested.v1"
TURN_CONSUMER = "turn-runner"


@dataclass(frozen=True)
class StreamSpec:
    name: str
    subjects: tuple[str, ...]
    retention: Literal["limits", "workqueue"]
    discard: Literal["old", "new"]
    max_age: int = 0
    """Seconds; 0 keeps without an age limit."""
    max_bytes: int = -1


@dataclass(frozen=True)
class ConsumerSpec:
    stream: str
    name: str
    filter_subject: str
    ack_wait: int
    """Seconds."""
    max_ack_pending: int
    max_deliver: int


GIB = 1024**3

STREAMS = (
    StreamSpec("TURN", (TURN_REQUESTED,), "workqueue", "new", max_bytes=GIB // 4),
    StreamSpec("FACT", ("fact.*.*.*.*",), "limits", "old", max_age=7 * 86400, max_bytes=GIB),
    StreamSpec("LOG", ("log.*",), "limits", "old", max_age=86400, max_bytes=2 * GIB),
)

CONSUMERS = (ConsumerSpec("TURN", TURN_CONSUMER, TURN_REQUESTED, ack_wait=5, max_ack_pending=10_000, max_deliver=20),)


def log_subject(turn_id: UUID) -> str:
    return f"log.{turn_id}"


def stop_subject(turn_id: UUID) -> str:
    return f"ctl.stop.{turn_id}"


def user_facts(user_id: UUID) -> str:
    """Every fact of one user."""
    return f"fact.{user_id}.>"
