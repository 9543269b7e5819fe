"""The short way through nats-py: however the bytes are cut, it hears what the long way hears."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from nats import errors
from nats.aio.msg import Msg
from nats.protocol.parser import Parser

from bus.client import CLOSE, LINGER, BusClient, directly


class Witness:
    """A connected client without a server: what its parser is fed is what would have been read."""

    def __init__(self, *, short: bool) -> None:
        self.client: Any = BusClient()
        if not short:
            self.client._ps = Parser(self.client)
        self.heard: list[tuple[str, bytes]] = []
        self.other: list[tuple[str, str, bytes]] = []
        self.wrong: list[Exception] = []
        self.client._error_cb = self._said

    async def _said(self, wrong: Exception) -> None:
        self.wrong.append(wrong)

    async def listen(self) -> None:
        for sid, callback in ((1, directly(lambda subject, data: self.heard.append((subject, data)))), (2, self._long)):
            self.client._subs[sid] = _Subscription(callback)

    async def _long(self, message: Msg) -> None:
        self.other.append((message.subject, message.reply, message.data))

    async def read(self, data: bytes, cuts: list[int]) -> None:
        for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            await self.client._ps.parse(data[begin:end])
        for subscription in self.client._subs.values():
            await subscription.work()


class _Subscription:
    """As much of nats-py's as a client needs to deliver to."""

    def __init__(self, callback: Any) -> None:
        self._cb = callback
        self._received = self._max_msgs = self._pending_size = self._pending_bytes_limit = 0
        self._jsi = self._future = None
        self._pending_queue = self
        self.waiting: list[Msg] = []

    def put_nowait(self, message: Msg) -> None:
        self.waiting.append(message)

    async def work(self) -> None:
        for message in self.waiting:
            await self._cb(message)
        self.waiting.clear()


def frames(seed: int) -> bytes:
    made, chance = bytearray(), random.Random(seed)
    for number in range(40):
        data = chance.randbytes(chance.choice([0, 1, 30, 300, 70_000]))
        sid = chance.choice([1, 1, 2, 9])
        reply = b"" if chance.random() < 0.5 else b"_INBOX.x.%d " % number
        head = b"NATS/1.0\r\nA: %d\r\n\r\n" % number
        made += chance.choice(
            [
                b"MSG log.%d %d %b%d\r\n%b\r\n" % (number, sid, reply, len(data), data),
                b"HMSG log.%d %d %b%d %d\r\n%b%b\r\n"
                % (number, sid, reply, len(head), len(head) + len(data), head, data),
                b"+OK\r\n",
            ]
        )
    return bytes(made)


@pytest.mark.parametrize("seed", range(25))
async def test_both_ways_hear_the_same_however_the_reads_are_cut(seed: int) -> None:
    data, chance = frames(seed), random.Random(-seed)
    cuts = sorted(chance.sample(range(1, len(data)), chance.choice([0, 3, 60])))
    ways = [Witness(short=True), Witness(short=False)]
    for way in ways:
        await way.listen()
        await way.read(data, cuts)
        assert way.wrong == []
    assert ways[0].heard == ways[1].heard
    assert ways[0].other == ways[1].other
    assert ways[0].client.stats == ways[1].client.stats
    assert ways[0].heard


async def test_a_listener_that_raises_is_reported_and_the_next_message_still_comes() -> None:
    witness = Witness(short=True)

    def refuse(subject: str, data: bytes) -> None:
        witness.heard.append((subject, data))
        raise LookupError(subject)

    witness.client._subs[1] = _Subscription(directly(refuse))
    await witness.read(b"MSG a 1 1\r\nx\r\nMSG b 1 1\r\ny\r\n", [])
    assert [subject for subject, _ in witness.heard] == ["a", "b"]
    assert [str(wrong) for wrong in witness.wrong] == ["a", "b"]


@pytest.mark.parametrize("subject", ["", "two words", "line\r\nPUB evil 0", "tab\tbed"])
async def test_a_subject_that_would_break_the_line_is_refused(subject: str) -> None:
    client: Any = BusClient()
    client._status, client._max_pending_size = client.CONNECTED, 1 << 20
    with pytest.raises(errors.BadSubjectError):
        await client.publish(subject or "", b"")
    if subject:
        with pytest.raises(errors.BadSubjectError):
            await client.publish("log.1", b"", reply=subject)
    assert client._pending == []


async def test_a_client_that_was_never_connected_says_so() -> None:
    with pytest.raises(errors.Error):
        await BusClient().publish("log.1", b"")


class _Transport:
    """Keeps each write apart."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.wrote = asyncio.Event()

    def writelines(self, lines: list[bytes]) -> None:
        self.writes.append(b"".join(lines))
        self.wrote.set()

    async def drain(self) -> None:
        """It always takes more."""

    async def until(self, writes: int) -> None:
        async with asyncio.timeout(5):
            while len(self.writes) < writes:
                self.wrote.clear()
                await self.wrote.wait()


@pytest.fixture
async def connected() -> AsyncIterator[Any]:
    client: Any = BusClient()
    client._status, client._max_pending_size = client.CONNECTED, 1 << 20
    client._flush_queue, client._transport = asyncio.Queue(), _Transport()
    client._flusher_task = asyncio.create_task(client._flusher())
    yield client
    client._flusher_task.cancel()


async def test_publishes_that_come_quickly_leave_together(connected: Any) -> None:
    connected._gap = 0.0  # as after many of them
    await connected.publish("log.1", b"a", reply="in.1")
    await connected._transport.until(1)
    connected._wrote, connected._gap = time.monotonic(), 0.0  # however long that took
    for subject in ("log.1", "log.2", "log.3"):
        await connected.publish(subject, b"b")
    assert len(connected._transport.writes) == 1
    await connected._transport.until(2)
    assert connected._transport.writes == [
        b"PUB log.1 in.1 1\r\na\r\n",
        b"PUB log.1  1\r\nb\r\nPUB log.2  1\r\nb\r\nPUB log.3  1\r\nb\r\n",
    ]
    assert connected.stats["out_msgs"] == 4


async def test_a_few_publishes_leave_at_once_each(connected: Any) -> None:
    for number in range(1, 4):
        await connected.publish("log.1", b"a")
        assert connected._writing is None
        await connected._transport.until(number)
    assert len(connected._transport.writes) == 3


async def test_some_thousand_a_second_are_quick_and_a_pause_ends_that(connected: Any) -> None:
    assert connected._gap > CLOSE
    for _ in range(300):  # without a pause between them
        await connected.publish("log.1", b"a")
    assert connected._gap < CLOSE
    connected._published -= 60
    await connected.publish("log.1", b"a")
    assert connected._gap > CLOSE
    await connected._transport.until(1)


async def test_what_must_not_wait_takes_along_what_does(connected: Any) -> None:
    for text in (b"a", b"b"):
        await connected.publish("log.1", text)
    await connected.publish("fact.x", b"c", headers={"Nats-Msg-Id": "7"})
    await connected._transport.until(1)
    assert connected._transport.writes[0].endswith(b"Nats-Msg-Id: 7\r\n\r\nc\r\n")


async def test_a_connection_that_is_lost_while_publishes_wait_keeps_them(connected: Any) -> None:
    await connected.publish("log.1", b"a")
    await connected._transport.until(1)
    connected._wrote, connected._gap = time.monotonic(), 0.0  # they come quickly
    await connected.publish("log.1", b"b")
    connected._status = connected.RECONNECTING
    await asyncio.sleep(LINGER * 2)
    assert connected._pending == [b"PUB log.1  1\r\nb\r\n"]
    connected._status, connected._gap = connected.CONNECTED, 1.0
    await connected.publish("log.1", b"c")
    await connected._transport.until(2)
    assert connected._transport.writes[1] == b"PUB log.1  1\r\nb\r\nPUB log.1  1\r\nc\r\n"
