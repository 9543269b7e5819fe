"""nats-py's client with a short way for what passes once per token: published batches, their acknowledgements, and
what a gateway hears.

nats-py makes an object, a queue entry and a task's turn of each message. A subscription whose callback was made by
`directly` is called within the read itself instead; whatever else arrives takes nats-py's own way. Names with an
underscore are nats-py's: its version is locked, and the tests here hold both ways against a real server.
"""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.protocol.parser import AWAITING_CONTROL_LINE, Parser

Handle = Callable[[str, bytes], None]
"""Takes a message's subject and data; must not raise and must not take long."""

LINGER = 0.002
"""Seconds between two writes of plain publishes while they come quickly: what follows closely then leaves together,
whichever turn it is of, in one wake-up of the broker, its listeners and its acknowledgements for all of it. At some
thousand small messages a second those wake-ups cost more than everything else."""

CLOSE = 0.0003
"""Seconds between publishes, on average, below which they come quickly. Above it each leaves at once: waiting would
add its delay and save little."""

_PAUSE = 0.01
"""Seconds; longer gaps count as this one, so that a pause is not remembered for long."""

_SMALL = 64 * 1024
"""A message that is not whole yet and larger than this is left to nats-py, which does not copy it at each read."""


_clients: weakref.WeakSet[BusClient] = weakref.WeakSet()


def transferred() -> tuple[int, int]:
    """Payload bytes that this process's clients have received, and sent."""
    counts = [client.stats for client in _clients]
    return sum(count["in_bytes"] for count in counts), sum(count["out_bytes"] for count in counts)


def directly(handle: Handle) -> Callable[[Msg], Awaitable[None]]:
    """A callback for `subscribe` that is called without queue and task, where the client is ours."""

    async def called(message: Msg) -> None:
        handle(message.subject, message.data)

    called.direct = handle  # pyright: ignore[reportFunctionMemberAccess]
    return called


class BusClient(Client):
    """A client whose plain publishes and direct subscriptions cost a third."""

    def __init__(self) -> None:
        super().__init__()
        self._ps = _ShortParser(self)
        self._wrote = self._published = 0.0
        self._gap = _PAUSE
        self._writing: asyncio.TimerHandle | None = None
        _clients.add(self)

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """As `Client.publish`; whatever is not the plain case is left to it."""
        size = len(payload)
        is_plain = (
            headers is None
            and self._status == Client.CONNECTED
            and size <= self._max_payload
            and self._pending_data_size + size < self._max_pending_size
            and _is_plain(subject)
            and (not reply or _is_plain(reply))
        )
        if not is_plain:
            await super().publish(subject, payload, reply, dict(headers) if headers is not None else None)
            return
        command = b"PUB %b %b %d\r\n%b\r\n" % (subject.encode(), reply.encode(), size, payload)
        self.stats["out_msgs"] += 1
        self.stats["out_bytes"] += size
        self._pending.append(command)
        self._pending_data_size += len(command)
        now = time.monotonic()
        self._gap += 0.05 * (min(now - self._published, _PAUSE) - self._gap)
        self._published = now
        if self._writing is not None:
            return
        if self._gap >= CLOSE or now - self._wrote >= LINGER:
            self._wrote = now
            if self._flush_queue is None or self._flush_queue.empty():
                await self._flush_pending()
        else:
            wait = self._wrote + LINGER - now
            self._writing = asyncio.get_running_loop().call_later(wait, self._write_now)

    def _write_now(self) -> None:
        self._writing = None
        if self._flush_queue is None or not self.is_connected:
            return  # whoever connects again writes what is pending
        self._wrote = time.monotonic()
        if self._flush_queue.empty():
            self._flush_queue.put_nowait(asyncio.get_running_loop().create_future())

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: Any) -> None:
        subscription = self._subs.get(sid)
        direct: Handle | None = getattr(subscription._cb, "direct", None) if subscription is not None else None
        if direct is None:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        self.stats["in_msgs"] += 1
        self.stats["in_bytes"] += len(data)
        try:
            direct(subject.decode(), data)
        except Exception as wrong:  # noqa: BLE001 - as nats-py does: said, and the connection goes on reading
            await self._error_cb(wrong)


def _is_plain(subject: str) -> bool:
    """Not empty, nothing that would end the word or the line."""
    return subject.isprintable() and " " not in subject and subject != ""


class _ShortParser(Parser):
    """Reads whole `MSG` frames in one go; all else, and what is cut off, goes through nats-py's parser."""

    def __init__(self, client: BusClient) -> None:
        self._client: Any = client
        super().__init__(client)

    def reset(self) -> None:
        super().reset()
        self._rest = b""

    async def parse(self, data: bytes = b"") -> None:
        if self.state != AWAITING_CONTROL_LINE:
            await super().parse(data)  # in the middle of a large message
            return
        if self.buf:
            data = bytes(self.buf) + data
            self.buf.clear()
        elif self._rest:
            data, self._rest = self._rest + data, b""
        at = await self._whole(data)
        if at < len(data):
            await self._odd(data[at:] if at else data)

    async def _whole(self, data: bytes) -> int:
        """Takes whole messages from the beginning; returns where that ended."""
        client = self._client
        at, size = 0, len(data)
        while data.startswith(b"MSG ", at):
            line_end = data.find(b"\r\n", at)
            if line_end < 0:
                break
            words = data[at + 4 : line_end].split(b" ")
            begin = line_end + 2
            end = begin + int(words[-1])
            if end + 2 > size:
                break
            at = end + 2
            reply = words[2] if len(words) == 4 else b""
            await client._process_msg(int(words[1]), words[0], reply, data[begin:end], None)
        return at

    async def _odd(self, data: bytes) -> None:
        """What is not a whole message: another kind of frame, or one that the next read completes."""
        if data.startswith(b"MSG ") and len(data) < _SMALL:
            self._rest = data
        else:
            await super().parse(data)
