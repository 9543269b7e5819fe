"""Streams under pressure: sockets that do not drain, a broker that restarts, a gateway that is told to stop."""

import asyncio
import ctypes
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from nats.aio.client import Client

from cli.bench.batches import BatchReader, Message
from cli.bench.client import TurnClient
from contracts import chunks
from store import Store
from tests.kit.gateway import Gateway, Person, gateway_on, person_at
from tests.kit.stack import Servers
from tests.kit.waiting import eventually
from tests.kit.writer import STEP, Writer, text_part, texts

SETTINGS = {
    "RETINUE_STREAM_SILENCE": "0.5",
    "RETINUE_STREAM_HEARTBEAT": "0.6",
    "RETINUE_STREAM_STUCK": "2",
    "RETINUE_STREAM_VANISHED": "0",
    "RETINUE_STREAM_DRAIN": "1",
    "RETINUE_STREAM_READ_AHEAD": "65536",
    "RETINUE_TURNS_PER_USER": "100",
    "RETINUE_TURNS_TOTAL": "1000",
}
SO_ATTACH_FILTER = 26  # Linux; Python has no name for it
PIECE = "0123456789abcdef" * 512  # 8 KiB


@pytest.fixture(scope="module")
def gateway(servers: Servers) -> Iterator[Gateway]:
    with gateway_on(servers, SETTINGS) as running:
        yield running


@pytest.fixture(scope="module")
def attentive_gateway(servers: Servers) -> Iterator[Gateway]:
    """One that soon gives up who acknowledges nothing; who only reads slowly, it would take for such a one."""
    with gateway_on(servers, SETTINGS | {"RETINUE_STREAM_VANISHED": "3"}) as running:
        yield running


@pytest.fixture(scope="module")
def person(gateway: Gateway) -> Person:
    return person_at(gateway)


async def begin(client: TurnClient, store: Store, bus: Client, person: Person):
    watch = await client.send(await client.thread(), "Tell me")
    assert watch.turn_id is not None
    return watch, await Writer.claim(store, bus, UUID(person.id), UUID(watch.turn_id))


class SlowWindow:
    """A raw connection with a small receive buffer, read only when the test says so."""

    def __init__(self, gateway: Gateway, person: Person, thread: str, turn: str) -> None:
        host, port = gateway.url.removeprefix("http://").split(":")
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect((host, int(port)))
        self.socket.setblocking(False)
        request = (
            f"GET /api/threads/{thread}/turn?turn={turn} HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Authorization: Bearer {person.token}\r\n\r\n"
        )
        self.socket.send(request.encode())
        self.is_broken = False

    async def read(self, size: int = 1 << 16) -> bytes:
        """The next bytes; none when the connection was closed or broken."""
        try:
            return await asyncio.get_running_loop().sock_recv(self.socket, size)
        except ConnectionResetError:
            self.is_broken = True
            return b""

    async def rest(self) -> bytes:
        read = b""
        while data := await self.read():
            read += data
        return read

    async def rest_until_done(self) -> bytes:
        read = b""
        while not read.endswith(b"0\r\n\r\n") and (data := await self.read()):
            read += data
        return read

    def vanish(self) -> None:
        """The kernel drops whatever comes in, unseen, as if the network were gone: a filter that takes no packet."""
        take_nothing = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # BPF: return 0 bytes
        program = struct.pack("HL", 1, ctypes.addressof(take_nothing))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)

    def close(self) -> None:
        self.socket.close()


def is_established(gateway: Gateway, client: socket.socket) -> bool:
    """Whether the gateway's side of this connection is still there."""
    server, peer = (f"0100007F:{port:04X}" for port in (client.getpeername()[1], client.getsockname()[1]))
    return any(line.split()[1:4] == [server, peer, "01"] for line in Path("/proc/net/tcp").read_text().splitlines())


def body_of(response: bytes) -> bytes:
    """The chunked body of a raw response, as far as it goes."""
    _, _, rest = response.partition(b"\r\n\r\n")
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size or b"0", 16)
        if length == 0:
            return body
        body, rest = body + rest[:length], rest[length + 2 :]
    return body


async def test_a_slow_reader_is_left_to_the_log_and_misses_nothing(
    gateway: Gateway, client: TurnClient, store: Store, bus: Client, person: Person
) -> None:
    watch, writer = await begin(client, store, bus, person)
    slow = SlowWindow(gateway, person, watch.thread_id, watch.turn_id or "")
    reading = asyncio.create_task(watch.to_end())
    await writer.start()
    begun = time.monotonic()
    await writer.text("a", *(f"{n}:{PIECE}" for n in range(600)))  # 5 MB: more than every buffer on the way
    await writer.close_text("a")
    whole = "".join(f"{n}:{PIECE}" for n in range(600))
    await writer.end(parts=[STEP, text_part("a", whole)])
    message = await reading  # the neighbour is not held up
    assert texts(message) == [whole]
    assert time.monotonic() - begun < 20
    body = body_of(await asyncio.wait_for(slow.rest_until_done(), 30))
    seen = Message()
    for batch in BatchReader().feed(body):
        seen.apply(batch)
    assert seen.is_ended
    assert seen.shown == message.shown
    slow.close()


async def test_a_reader_that_never_reads_is_reset(
    gateway: Gateway, client: TurnClient, store: Store, bus: Client, person: Person
) -> None:
    watch, writer = await begin(client, store, bus, person)
    stuck = SlowWindow(gateway, person, watch.thread_id, watch.turn_id or "")
    await writer.start()
    await writer.text("a", *(PIECE for _ in range(600)))
    await watch.until(lambda m: bool(texts(m)) and len(texts(m)[0]) == 600 * len(PIECE))
    await asyncio.to_thread(eventually, lambda: "reset a stuck viewer" in gateway.log(), 15)
    body = await asyncio.wait_for(stuck.rest(), 10)
    assert stuck.is_broken  # a clean end would read as success
    assert len(body) < 1 << 20, "of megabytes, the kernel was given little to hold"
    stuck.close()
    await writer.publish(chunks.text_delta("a", "!"))
    await watch.until(lambda m: texts(m)[0].endswith("!"))
    assert watch.connections == 1
    watch.close()


async def test_a_reader_that_vanished_without_a_goodbye_is_given_up(
    attentive_gateway: Gateway, client: TurnClient, store: Store, bus: Client, person: Person
) -> None:
    """A half-open socket: its network is gone, so nothing is acknowledged and nothing is refused either."""
    watch, writer = await begin(client, store, bus, person)
    gone = SlowWindow(attentive_gateway, person, watch.thread_id, watch.turn_id or "")
    await writer.start()
    assert b"200 OK" in await gone.read()
    is_open = lambda: is_established(attentive_gateway, gone.socket)  # noqa: E731
    assert is_open()
    gone.vanish()
    await writer.text("a", "to nobody")
    await asyncio.to_thread(eventually, lambda: not is_open(), 15, "the gateway has given the connection up")
    await watch.until(lambda m: texts(m) == ["to nobody"])
    assert watch.connections == 1
    gone.close()
    watch.close()


async def test_idle_streams_are_kept_alive(
    gateway: Gateway, client: TurnClient, store: Store, bus: Client, person: Person
) -> None:
    watch, _ = await begin(client, store, bus, person)
    watch.keeps_raw = True
    began = time.monotonic()
    await watch.until(lambda m: watch.raw.count(b": keep-alive\n\n") >= 2, 10)
    assert watch.connections == 1
    assert time.monotonic() - began > float(SETTINGS["RETINUE_STREAM_HEARTBEAT"])
    watch.close()


async def test_the_bus_restarts_in_mid_stream(
    servers: Servers, client: TurnClient, store: Store, bus: Client, person: Person
) -> None:
    watch, writer = await begin(client, store, bus, person)
    await writer.start()
    await writer.text("a", "before ")
    await watch.until(lambda m: texts(m) == ["before "])
    servers.hold("nats", 1.0)
    for piece in ("while ", "away ", "and after"):
        await publish_somehow(writer, chunks.text_delta("a", piece))
    await writer.close_text("a")
    await watch.until(lambda m: texts(m) == ["before while away and after"], 20)
    assert watch.connections == 1
    await writer.end(parts=[STEP, text_part("a", "before while away and after")])
    await watch.to_end()


async def test_the_log_alone_fills_a_gap_while_postgres_is_away(
    servers: Servers, client: TurnClient, store: Store, bus: Client, person: Person
) -> None:
    watch, writer = await begin(client, store, bus, person)
    await writer.start()
    await writer.text("a", "x")
    await watch.until(lambda m: texts(m) == ["x"])
    resting = asyncio.create_task(asyncio.to_thread(servers.hold, "postgres", 4.0))
    is_away = lambda: person.program.get("/api/threads").status_code == 503  # noqa: E731
    await asyncio.to_thread(eventually, is_away, 5)
    missed = await writer.publish(chunks.text_delta("a", "y"), live=False)
    last = await writer.publish(chunks.text_delta("a", "z"))
    await writer.repeat(missed)
    await watch.until(lambda m: texts(m) == ["xyz"], 3)
    assert watch.message.position == last
    await resting
    await writer.publish(chunks.text_delta("a", "!"))
    await watch.until(lambda m: texts(m) == ["xyz!"])
    assert watch.connections == 1
    watch.close()


async def test_a_stopping_gateway_breaks_its_streams(
    gateway: Gateway, client: TurnClient, store: Store, bus: Client, person: Person
) -> None:
    """The last test here: it takes the gateway away."""
    watch, writer = await begin(client, store, bus, person)
    raw = SlowWindow(gateway, person, watch.thread_id, watch.turn_id or "")
    await writer.start()
    await watch.until(lambda m: m.position.number == 1)
    begun = time.monotonic()
    gateway.process.terminate()
    body = await asyncio.wait_for(raw.rest(), 10)
    assert 0.8 < time.monotonic() - begun < 4
    assert raw.is_broken or not body.endswith(b"0\r\n\r\n")
    assert await asyncio.to_thread(gateway.process.wait, 10) == 0
    assert "Traceback" not in gateway.log()
    watch.close()
    raw.close()


async def publish_somehow(writer: Writer, *said: chunks.Chunk) -> None:
    """As the runner does: the same batch again until it is acknowledged."""
    id = await writer.publish(*said, live=False)
    async with asyncio.timeout(20):
        while True:
            try:
                await writer.repeat(id)
                return
            except Exception:  # noqa: BLE001 - whatever a bus that is away raises
                await asyncio.sleep(0.1)
