"""Writing to the outbox: a message for the bus, in the transaction that makes it true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import insert

from contracts.event import Event
from contracts.hints import Hint
from contracts.ids import uuid7
from contracts.sizes import refuse_large
from contracts.subjects import log_subject
from contracts.turns import TurnRequested, TurnStatus
from store.models import OutboxRow
from store.store import Session


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """What the relay publishes once the transaction has committed; `id` is its `Nats-Msg-Id`."""

    subject: str
    payload: bytes
    id: UUID = field(default_factory=uuid7)
    headers: dict[str, str] = field(default_factory=dict[str, str])
    hint: Hint | None = None
    """Said to the user's pages by whoever relays this from memory; it is in no row."""


def of_event(event: Event, traceparent: str | None = None, hint: Hint | None = None) -> OutboxMessage:
    headers = {"traceparent": traceparent} if traceparent else {}
    return OutboxMessage(event.subject(), event.to_bytes(), event.id, headers, hint)


def wake_up(user_id: UUID, thread_id: UUID, turn_id: UUID, traceparent: str | None = None) -> OutboxMessage:
    """For a turn that has just become `queued`: the runners are told, and so are its user's pages."""
    hint = Hint.of_turn(user_id, thread_id, turn_id, TurnStatus.QUEUED)
    return of_event(TurnRequested(user_id=user_id, turn_id=turn_id), traceparent, hint)


def of_batch(turn_id: UUID, message: bytes) -> OutboxMessage:
    return OutboxMessage(log_subject(turn_id), message)


async def write(session: Session, messages: Sequence[OutboxMessage]) -> None:
    """Raises `MessageTooLarge`, before anything commits: a row that the bus never takes would stay for ever."""
    for message in messages:
        refuse_large(message.subject, message.payload)
    if messages:
        rows = [{"id": m.id, "subject": m.subject, "payload": m.payload, "headers": m.headers} for m in messages]
        await session.execute(insert(OutboxRow), rows)
