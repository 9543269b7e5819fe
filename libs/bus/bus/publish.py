"""Publishing with an acknowledgement, cheaply.

`AckedPublisher` is for the chunk log: it sends as fast as the socket takes it and calls back for each
acknowledgement, without a future or a task per message (nats-py's own `publish_async` makes both, measured at
+60 % CPU for the runner). `publish_stored` is for everything else.
"""

# nats-py types its keyword arguments loosely.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from nats.aio.client import Client
from nats.js.api import Header, PubAck

from bus.client import directly
from contracts.sizes import refuse_large

OnAck = Callable[[bool], None]
"""Called with True when the stream has the message, with False when it refused it."""


async def publish_stored(
    client: Client, subject: str, payload: bytes, id: UUID, headers: Mapping[str, str] | None = None, timeout: float = 5
) -> PubAck:
    """Publishes and waits until the stream has it; `id` becomes `Nats-Msg-Id`.

    Raises `MessageTooLarge`, and nats errors on refusal.
    """
    refuse_large(subject, payload)
    stored_headers = {**(headers or {}), Header.MSG_ID.value: str(id)}
    return await client.jetstream().publish(subject, payload, timeout=timeout, headers=stored_headers)


class AckedPublisher:
    """Publishes to streams and tells each caller when its own message is stored."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._prefix = client.new_inbox() + "."
        self._next = 0
        self._waiting: dict[str, OnAck] = {}

    async def start(self) -> None:
        await self._client.subscribe(self._prefix + "*", cb=directly(self._acknowledged), pending_msgs_limit=-1)
        await self._client.flush()

    async def publish(self, subject: str, payload: bytes, on_ack: OnAck) -> str:
        """Sends now; returns a ticket for `forget`.

        Raises `MessageTooLarge`, and nats errors if closed, or if its buffer is full.
        """
        refuse_large(subject, payload)
        self._next += 1
        ticket = format(self._next, "x")
        self._waiting[ticket] = on_ack
        try:
            await self._client.publish(subject, payload, reply=self._prefix + ticket)
        except BaseException:
            self._waiting.pop(ticket, None)
            raise
        return ticket

    def forget(self, ticket: str) -> None:
        """The caller no longer waits for this acknowledgement (it published again, or dropped the turn)."""
        self._waiting.pop(ticket, None)

    def _acknowledged(self, subject: str, data: bytes) -> None:
        on_ack = self._waiting.pop(subject[len(self._prefix) :], None)
        if on_ack is not None:
            # `{"stream":"LOG","seq":7}`; a refusal carries "error", and "no responders" has no body at all.
            on_ack(b'"seq"' in data and b'"error"' not in data)
