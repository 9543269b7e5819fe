"""One delivery of one message to a declared consumer: what it is, and the four answers that the broker takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from faststream.nats import NatsBroker, NatsMessage
from nats.js.api import Header

from bus.broker import subscription
from contracts.subjects import ORIGIN_EVENT, ORIGIN_SUBJECT, ConsumerSpec, again_subject

Broker = NatsBroker
"""For those who hear events without a name of the client library."""

_NAMELESS = UUID("0197a5f0-6d0c-7d6e-8a8e-6d2a0f1f9b11")


@dataclass(frozen=True)
class Delivery:
    """A message as it came this time. Every answer to it may be lost; then it comes once more."""

    spec: ConsumerSpec
    body: bytes
    headers: dict[str, str]
    subject: str
    """Where the event was first sent to, also when it came by `again.…`."""
    was_sent_again: bool
    """Replayed, or found missing: it came to this consumer alone."""
    count: int
    """How often this message was delivered, this time included."""
    kept_since: datetime
    message_id: UUID
    """For a message that does not say which event it is: `Nats-Msg-Id`, else made from its place in the stream."""
    _message: NatsMessage

    @classmethod
    def of(cls, message: NatsMessage, spec: ConsumerSpec) -> Delivery:
        raw, about = message.raw_message, message.raw_message.metadata
        headers = {str(key): str(value) for key, value in (raw.headers or {}).items()}
        again = raw.subject == again_subject(spec)
        return cls(
            spec,
            raw.data,
            headers,
            headers.get(ORIGIN_SUBJECT, raw.subject) if again else raw.subject,
            again,
            about.num_delivered or 1,
            about.timestamp,
            _message_id(headers, f"{spec.stream}/{about.sequence.stream}", again),
            message,
        )

    @property
    def is_too_often(self) -> bool:
        """It came more often than it may, so the deliveries before ended without an answer: it is parked untried."""
        return self.count > self.spec.max_deliver

    async def done(self) -> None:
        """The work is committed."""
        await self._message.ack()

    async def again(self, delay: float) -> None:
        """Not now: deliver it again in `delay` seconds."""
        await self._message.nack(delay=delay)

    async def never(self) -> None:
        """No more deliveries: it is kept elsewhere."""
        await self._message.reject()

    async def hold(self) -> None:
        """Still at work: the time within which an answer is expected begins anew."""
        await self._message.in_progress()


def hear(broker: Broker, spec: ConsumerSpec, receive: Callable[[Delivery], Awaitable[None]]) -> None:
    """Hand each delivery of this consumer to `receive`, one after the other; `receive` answers it."""

    async def on_message(message: NatsMessage) -> None:
        await receive(Delivery.of(message, spec))

    untyped: Any = broker
    untyped.subscriber(**subscription(spec))(on_message)


def _message_id(headers: dict[str, str], place: str, again: bool) -> UUID:
    try:
        return UUID(headers.get(ORIGIN_EVENT if again else Header.MSG_ID.value, ""))
    except ValueError:
        return uuid5(_NAMELESS, place)
