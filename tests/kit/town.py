"""Gateway and turn-runner in one process, put together from their own parts, with an in-memory broker between them.

What travels as an event goes through FastStream's `TestNatsBroker`, which calls the runner's handler as NATS would:
that proves routing and types, and nothing about acknowledgements, redelivery or duplicates (tests/integration does).
The chunk log and core messages go over the real NATS, because their readers and writers speak to it directly;
Postgres and the model server are real too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx
from faststream.nats import NatsBroker, TestNatsBroker
from nats.aio.client import Client

from blobs import FolderBlobs
from bus.broker import make_broker
from bus.connection import connect
from bus.hints import Hints
from bus.publish import AckedPublisher, publish_stored
from bus.rpc.asking import Asker
from chassis.pools import Pool
from chassis.relay import OutboxRelay
from chassis.saved import SavedSettings
from chassis.service import Service
from cli.up.running import key_file_of
from contracts.subjects import TURN_REQUESTED
from gateway.addresses import ClientAddresses
from gateway.app import make_app
from gateway.auth import Authenticator
from gateway.cookies import SessionCookie
from gateway.events.hub import EventHub
from gateway.parts import Parts
from gateway.settings import GatewaySettings
from gateway.streams.streams import Streams
from gateway.throttle import Throttle
from llm import Models, ModelSettings
from store import Store, turns
from tests.kit.stack import Servers
from tests.kit.workshop import model_side
from turn_runner.handlers import subscribe_requests, subscribe_stops
from turn_runner.held import Workshop
from turn_runner.lease import Lease
from turn_runner.log import Logs, Pace
from turn_runner.outputs import Outputs
from turn_runner.settings import RunnerSettings
from turn_runner.slots import Slots
from turn_runner.web import Web
from vault import KeyFile, Vault

ORIGIN = "http://127.0.0.1:8700"

NEVER = 3600.0
"""Seconds between sweeps: what is told here, is told by the way in memory."""

FIRST_DELIVERY = "$JS.ACK.TURN.turn-runner.1.1.1.1700000000000000000.0"


@dataclass(frozen=True)
class Passed:
    """Something that a relay published; `by` is the service whose outbox it was."""

    by: str
    subject: str
    payload: bytes
    id: UUID
    headers: Mapping[str, str]


@dataclass
class Traffic:
    """What went over the bus, in order."""

    passed: list[Passed] = field(default_factory=list[Passed])
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, passed: Passed) -> None:
        self.passed.append(passed)
        self._more.set()

    def about(self, turn_id: UUID, subject: str = "") -> list[Passed]:
        """What was said about a turn on subjects that contain this."""
        named = str(turn_id)
        return [
            passed
            for passed in self.passed
            if subject in passed.subject and (named in passed.subject or named.encode() in passed.payload)
        ]

    async def until(self, turn_id: UUID, subject: str, count: int = 1, seconds: float = 10) -> list[Passed]:
        """The same, once so much was said."""
        async with asyncio.timeout(seconds):
            while len(found := self.about(turn_id, subject)) < count:
                self._more.clear()
                await self._more.wait()
        return found


@dataclass
class Town:
    """`browser` speaks to the gateway's application; `traffic` is what the relays published."""

    browser: httpx.AsyncClient
    gateway: Parts
    runner: Workshop
    slots: Slots
    broker: NatsBroker
    traffic: Traffic

    async def wake(self, payload: bytes) -> None:
        """Somebody says this on the subject of wake-ups."""
        await self.broker.publish(payload, TURN_REQUESTED, reply_to=FIRST_DELIVERY)


@asynccontextmanager
async def town_on(servers: Servers, model_url: str) -> AsyncGenerator[Town]:
    async with AsyncExitStack() as stack:
        broker = make_broker("nats://turn_runner@in-memory", "town")
        traffic = Traffic()
        workshop, slots = await _runner(stack, servers, model_url, broker, traffic)
        subscribe_requests(broker, workshop, slots)
        await stack.enter_async_context(TestNatsBroker(broker))
        parts = await _gateway(stack, servers, broker, traffic)
        transport = httpx.ASGITransport(make_app(parts))
        browser = httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers={"origin": ORIGIN}, timeout=30)
        await stack.enter_async_context(browser)
        yield Town(browser, parts, workshop, slots, broker, traffic)


async def _runner(
    stack: AsyncExitStack, servers: Servers, model_url: str, broker: NatsBroker, traffic: Traffic
) -> tuple[Workshop, Slots]:
    settings = RunnerSettings(model="openai/scripted", openai_base_url=model_url, model_retry_pause=0.05, titles=False)
    store = _store(stack, servers, "turn_runner")
    client = await _client(stack, servers, "turn_runner")
    relay = _relay(stack, store, client, broker, traffic, "turn_runner")
    publisher = AckedPublisher(client)
    await publisher.start()
    logs = Logs(client, publisher, Pace(), most_unacknowledged=settings.log_unacknowledged)
    _spawn(stack, logs.keep_publishing())
    models = Models(ModelSettings(default_model=settings.model, openai_base_url=model_url))
    stack.push_async_callback(models.aclose)
    side = model_side(store, *models.providers, connections=models.connections)
    stack.push_async_callback(side["catalogue"].aclose)
    lease = Lease(store, name="town", slots=8, every=settings.heartbeat_every, lease=settings.lease, trust=4.0)
    blobs, threads = _blobs(stack, servers, "turn_runner")
    outputs = Outputs(
        blobs, threads, store, lease, most_bytes=settings.tool_output_bytes, most_blob_bytes=settings.blob_bytes
    )
    web = Web.of(settings)
    stack.push_async_callback(web.aclose)
    workshop = Workshop(settings, store, models, lease, logs, relay, turns.Limits(), outputs, web, **side)
    slots = Slots(workshop)
    assert await lease.beat(slots)
    stack.push_async_callback(lease.leave)
    _spawn(stack, lease.keep(slots))
    await subscribe_stops(client, slots)
    stack.push_async_callback(slots.drain, countdown(5.0))
    return workshop, slots


async def _gateway(stack: AsyncExitStack, servers: Servers, broker: NatsBroker, traffic: Traffic) -> Parts:
    settings = GatewaySettings(port=8700, host="127.0.0.1", registration="open")
    store = _store(stack, servers, "gateway")
    client = await _client(stack, servers, "gateway")
    passwords = Pool("passwords-of-town", size=1, queue_limit=8)
    stack.push_async_callback(passwords.close)
    streams = Streams(client, store, settings.stream_limits)
    _spawn(stack, streams.run())
    cookie = SessionCookie(settings)
    asker = Asker(client)
    await asker.start()
    vault = Vault(KeyFile(key_file_of(servers.data_dir)))
    return Parts(
        settings=settings,
        store=store,
        bus=client,
        relay=_relay(stack, store, client, broker, traffic, "gateway"),
        throttle=Throttle(None),
        passwords=passwords,
        cookie=cookie,
        auth=Authenticator(store, settings, cookie),
        addresses=ClientAddresses([]),
        streams=streams,
        events=EventHub(client, settings.event_limits),
        blobs=_blobs(stack, servers, "gateway")[0],
        vault=vault,
        saved=SavedSettings(Service(settings), store, vault),
        asker=asker,
    )


def _blobs(stack: AsyncExitStack, servers: Servers, service: str) -> tuple[FolderBlobs, Pool]:
    threads = Pool(f"blobs-of-town-{service}", size=2, queue_limit=64)
    stack.push_async_callback(threads.close)
    return FolderBlobs(servers.data_dir / "blobs", threads), threads


def _relay(
    stack: AsyncExitStack, store: Store, client: Client, broker: NatsBroker, traffic: Traffic, service: str
) -> OutboxRelay:
    async def publish(subject: str, payload: bytes, id: UUID, headers: Mapping[str, str] | None = None) -> None:
        traffic.add(Passed(service, subject, payload, id, dict(headers or {})))
        if subject == TURN_REQUESTED:
            await broker.publish(payload, subject, headers=dict(headers or {}), reply_to=FIRST_DELIVERY)
        else:
            await publish_stored(client, subject, payload, id, headers)

    relay = OutboxRelay(store, publish, tell=Hints(client).say, sweep_every=NEVER)
    _spawn(stack, relay.run())
    return relay


def countdown(seconds: float) -> Callable[[], float]:
    """Seconds that are left of these, counted from the first look."""
    begun: list[float] = []

    def left() -> float:
        begun.append(time.monotonic())
        return max(0.0, begun[0] + seconds - begun[-1])

    return left


def _store(stack: AsyncExitStack, servers: Servers, role: str) -> Store:
    store = Store(servers.role_url(role), servers.role_url(f"{role}_system"), name=f"town-{role}", pool_size=4)
    stack.push_async_callback(store.dispose)
    return store


async def _client(stack: AsyncExitStack, servers: Servers, user: str) -> Client:
    client = await connect(servers.nats_url(user), f"town-{user}")
    stack.push_async_callback(client.close)
    return client


def _spawn(stack: AsyncExitStack, work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(work)

    async def end() -> None:
        task.cancel()
        await asyncio.wait({task})

    stack.push_async_callback(end)
