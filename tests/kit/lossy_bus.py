"""A NATS connection in this process that loses, refuses and delays at will: the faults that a real server cannot be
told to make. Everything else is tested on the real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from nats.errors import NoRespondersError

from contracts.batches import Batch, unpack

STORED = b'{"stream":"LOG","seq":7}'
REFUSED = b'{"error":{"code":503,"description":"insufficient resources"}}'

Acks = Literal["at once", "withheld"]


@dataclass
class _Reply:
    subject: str
    data: bytes


@dataclass
class Sent:
    subject: str
    payload: bytes
    reply: str

    @property
    def batch(self) -> Batch:
        return unpack(self.payload)


@dataclass
class LossyBus:
    """As much of `nats.aio.client.Client` as a publisher uses. `sent` is what went out, in order."""

    acks: Acks = "withheld"
    is_connected: bool = True
    fails: Exception | None = None
    sent: list[Sent] = field(default_factory=list[Sent])
    answered: set[str] = field(default_factory=set[str])
    """Reply subjects of what was stored, and said to be."""
    _heard: Callable[[Any], Awaitable[None]] | None = None
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def new_inbox(self) -> str:
        return "_INBOX.test.1"

    async def subscribe(self, subject: str, *, cb: Callable[[Any], Awaitable[None]] | None = None, **_: Any) -> None:
        if cb is None:
            raise NoRespondersError  # whoever would read what was stored
        self._heard = cb

    async def flush(self) -> None:
        """A real client would wait for the server here."""

    async def publish(self, subject: str, payload: bytes, *, reply: str = "") -> None:
        if self.fails is not None:
            raise self.fails
        sent = Sent(subject, payload, reply)
        self.sent.append(sent)
        self._arrived.set()
        if self.acks == "at once":
            await self.acknowledge(sent)

    async def acknowledge(self, *sent: Sent, data: bytes = STORED) -> None:
        """The server's word on these messages, in this order."""
        assert self._heard is not None
        for each in sent:
            self.answered |= {each.reply} if data == STORED else set()
            await self._heard(_Reply(each.reply, data))

    async def until_sent(self, count: int, seconds: float = 5) -> list[Sent]:
        """Returns once so many messages went out."""
        async with asyncio.timeout(seconds):
            while len(self.sent) < count:
                self._arrived.clear()
                await self._arrived.wait()
        return self.sent

    @property
    def batches(self) -> list[Batch]:
        return [sent.batch for sent in self.sent]
