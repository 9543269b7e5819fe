"""Subjects and streams of the bus: the one file that says what is kept where, for how long, and when it is full."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

MAX_PAYLOAD = 8 * 1024 * 1024
"""Bytes; the broker's limit everywhere. What comes near it is refused where it is made."""

DUPLICATE_WINDOW = 300
"""Seconds in which JetStream drops a second message with the same `Nats-Msg-Id`."""

ORIGIN_SUBJECT, ORIGIN_EVENT = "Retinue-Subject", "Retinue-Event"
"""Headers of what is sent again: where the event was first sent to, and its id."""

TURN_REQUESTED = "turn.requested.v1"
TURN_CONSUMER = "turn-runner"

SETTINGS_CHANGED = "fact.*.settings.changed.v1"
"""Heard by every process for itself, whoever changed something; core, because who starts later reads the rows."""

RPC_MODELS = "rpc.turn_runner.models"
RPC_PROVIDERS = "rpc.turn_runner.providers"
RPC_KEY_TEST = "rpc.turn_runner.key_test"
RPC_FOUND = "rpc.turn_runner.found"
RPC_SETTINGS = "rpc.turn_runner.settings"
RPC_PULL = "rpc.turn_runner.pull"
RPC_PULL_STOP = "rpc.turn_runner.pull_stop"
"""Each runner hears it: whichever fetches that model stops."""
RPC_REPLIES = "rpc.reply.gateway.*"
"""Where answers go: a token for each question, and no other inbox of the gateway's."""


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
    """After so many deliveries its own process parks an event (`chassis.parking`). The broker has no limit of its own:
    what exceeded that would be kept, delivered to nobody and shown to nobody."""
    has_inbox: bool = False
    """Its effect is not idempotent by a key of its own, so each event that is done leaves an inbox row."""

    @property
    def filters(self) -> list[str]:
        """All that it hears: its events, and what is sent again to it alone."""
        return [self.filter_subject, again_subject(self)]


GIB = 1024**3

STREAMS = (
    StreamSpec("TURN", (TURN_REQUESTED,), "workqueue", "new", max_bytes=GIB // 4),
    StreamSpec("FACT", ("fact.*.*.*.*",), "limits", "old", max_age=7 * 86400, max_bytes=GIB),
    StreamSpec("LOG", ("log.*",), "limits", "old", max_age=86400, max_bytes=2 * GIB),
)

CONSUMERS = (ConsumerSpec("TURN", TURN_CONSUMER, TURN_REQUESTED, ack_wait=5, max_ack_pending=10_000, max_deliver=20),)


def again_subject(consumer: ConsumerSpec) -> str:
    """Where an event is sent again to this consumer alone: replayed by an operator, or found missing by the sweep."""
    return f"again.{consumer.stream}.{consumer.name}"


def kept_subjects(stream: StreamSpec, consumers: Iterable[ConsumerSpec] = CONSUMERS) -> list[str]:
    """Everything that a stream keeps: its own subjects, and what is sent again to its consumers."""
    return [*stream.subjects, *(again_subject(each) for each in consumers if each.stream == stream.name)]


def log_subject(turn_id: UUID) -> str:
    return f"log.{turn_id}"


def stop_subject(turn_id: UUID) -> str:
    return f"ctl.stop.{turn_id}"


def hint_subject(user_id: UUID) -> str:
    """Where a user's open pages are told to look again."""
    return f"hint.{user_id}"


def ended_subject(user_id: UUID) -> str:
    """Every end of one user's turns (`turn.completed.v1`)."""
    return f"fact.{user_id}.turn.completed.v1"


def user_facts(user_id: UUID) -> str:
    """Every fact of one user."""
    return f"fact.{user_id}.>"
