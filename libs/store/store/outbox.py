"""Writing to the outbox: a message for the bus, in the transaction that makes it true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import insert

from contracts.event import Event
from contracts.ids import uuid7
from contracts.sizes import refuse_large
from contracts.subjects import log_subject
from store.models import OutboxRow
from store.store import Session


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """What the relay publishes once the transaction has committed; `id` is its `Nats-Msg-Id`."""

    subject: str
    payload: bytes
    id: UUID = field(default_factory=uuid7)
    headers: dict[str, str] = field(default_factory=dict[str, str])


def of_event(event: Event, traceparent: str | None = None) -> OutboxMessage:
    headers = {"traceparent": traceparent} if traceparent else {}
    return OutboxMessage(event.subject(), event.to_bytes(), event.id, headers)


def of_batch(turn_id: UUID, message: bytes) -> OutboxMessage:
    return OutboxMessage(log_subject(turn_id), message)


async def write(session: Session, messages: Sequence[OutboxMessage]) -> None:
    """Raises `MessageTooLarge`, before anything commits: a row that the bus never takes would stay for ever."""
    for message in messages:
        refuse_large(message.subject, message.payload)
    if messages:
        rows = [{"id": m.id, "subject": m.subject, "payload": m.payload, "headers": m.headers} for m in messages]
        await session.execute(insert(OutboxRow), rows)
