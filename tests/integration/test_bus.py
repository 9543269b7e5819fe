"""What an in-memory broker cannot prove: duplicates, redelivery, refusals, on the real NATS."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from uuid import uuid4

import nats
import nats.errors
import nats.js.errors
import pytest
from faststream.nats import NatsMessage
from nats.aio.client import Client

from bus.broker import make_broker, subscription
from bus.connection import connect
from bus.permissions import PERMISSIONS
from bus.publish import AckedPublisher, publish_stored
from bus.streams import FOR_EVER, check_streams, ensure_streams
from contracts.event import Event
from contracts.ids import uuid7
from contracts.sizes import MESSAGE_LIMIT, MessageTooLarge
from contracts.subjects import CONSUMERS, MAX_PAYLOAD, STREAMS, TURN_CONSUMER, kept_subjects, log_subject
from contracts.turns import TurnCompleted, TurnRequested, TurnStatus
from tests.kit.stack import Servers


@pytest.fixture(scope="module")
async def admin(servers: Servers) -> AsyncIterator[Client]:
    client = await connect(servers.nats_url("admin"), "test-bus-admin")
    yield client
    await client.close()


@pytest.fixture(scope="module")
async def client(servers: Servers) -> AsyncIterator[Client]:
    connected = await connect(servers.nats_url("turn_runner"), "test-bus")
    yield connected
    await connected.close()


async def publish(client: Client, event: Event) -> bool:
    """Whether the stream had it already."""
    return bool((await publish_stored(client, event.subject(), event.to_bytes(), event.id)).duplicate)


# Streams


async def test_streams_are_as_declared_and_making_them_again_changes_nothing(admin: Client) -> None:
    before = {spec.name: (await admin.jetstream().stream_info(spec.name)).config for spec in STREAMS}
    touched = await ensure_streams(admin)
    assert touched == [spec.name for spec in STREAMS] + [f"{spec.stream}/{spec.name}" for spec in CONSUMERS]
    for spec in STREAMS:
        config = (await admin.jetstream().stream_info(spec.name)).config
        assert config == before[spec.name]
        assert (config.subjects, config.max_bytes) == (kept_subjects(spec), spec.max_bytes)
        assert config.max_age == spec.max_age
        assert config.discard == spec.discard
        assert config.retention == spec.retention
    for consumer in CONSUMERS:
        made = (await admin.jetstream().consumer_info(consumer.stream, consumer.name)).config
        assert (made.ack_wait, made.max_deliver) == (consumer.ack_wait, FOR_EVER)
        assert made.filter_subjects == consumer.filters
        assert made.max_ack_pending == consumer.max_ack_pending


async def test_a_consumer_that_an_older_release_made_is_changed_in_place(admin: Client) -> None:
    js = admin.jetstream()
    (spec,) = CONSUMERS
    before = await js.consumer_info(spec.stream, spec.name)
    old = before.config.evolve(filter_subjects=None, filter_subject=spec.filter_subject, max_deliver=20)
    assert (await js.add_consumer(spec.stream, old)).config.max_deliver == 20
    await ensure_streams(admin)
    now = await js.consumer_info(spec.stream, spec.name)
    assert (now.config.filter_subjects, now.config.max_deliver) == (spec.filters, FOR_EVER)
    assert now.created == before.created, "the same consumer, with all that it knows"


@pytest.mark.parametrize("service", ["gateway", "turn_runner"])
async def test_a_service_may_check_the_streams(servers: Servers, service: str) -> None:
    client = await connect(servers.nats_url(service), "test-bus-check")
    await check_streams(client)
    await client.close()


async def test_a_clean_stop_is_not_a_bus_that_is_away(servers: Servers, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        client = await connect(servers.nats_url("turn_runner"), "test-bus-closed")
        await client.close()
        broker = make_broker(servers.nats_url("turn_runner"), "test-bus-stopped")
        await broker.start()
        await broker.stop()
    assert [record.getMessage() for record in caplog.records if record.name.startswith("bus")] == []


# Publishing


async def test_the_same_event_twice_is_kept_once(client: Client, admin: Client) -> None:
    user = uuid7()
    fact = TurnCompleted(user_id=user, turn_id=uuid7(), thread_id=uuid7(), status=TurnStatus.FINISHED)
    assert [await publish(client, fact) for _ in range(3)] == [False, True, True]
    info = await admin.jetstream().stream_info("FACT", subjects_filter=f"fact.{user}.>")
    assert info.state.subjects == {fact.subject(): 1}


async def test_the_log_acknowledges_each_of_many_batches(client: Client, admin: Client) -> None:
    publisher = AckedPublisher(client)
    await publisher.start()
    subject, count = log_subject(uuid4()), 3000
    acked: list[int] = []
    all_in = asyncio.Event()

    def acknowledged(number: int, stored: bool) -> None:
        assert stored
        acked.append(number)
        if len(acked) == count:
            all_in.set()

    for number in range(count):
        await publisher.publish(subject, b"%d" % number, lambda ok, number=number: acknowledged(number, ok))
    await asyncio.wait_for(all_in.wait(), 20)
    assert sorted(acked) == list(range(count))
    info = await admin.jetstream().stream_info("LOG", subjects_filter=subject)
    assert info.state.subjects == {subject: count}


async def test_what_no_stream_keeps_is_refused_and_not_silence(admin: Client) -> None:
    publisher = AckedPublisher(admin)
    await publisher.start()
    answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    await publisher.publish("nobody.keeps.this", b"x", answer.set_result)
    assert await asyncio.wait_for(answer, 5) is False
    with pytest.raises(nats.js.errors.NoStreamResponseError):
        await publish_stored(admin, "nobody.keeps.this", b"x", uuid7())


async def test_what_is_larger_than_the_broker_takes_is_refused_where_it_is_made(client: Client) -> None:
    assert client.max_payload == MAX_PAYLOAD
    with pytest.raises(MessageTooLarge):
        await publish_stored(client, log_subject(uuid4()), b"x" * (MESSAGE_LIMIT + 1), uuid7())


# Redelivery


async def test_a_handler_that_breaks_gets_its_message_again_and_an_acknowledged_one_is_gone(
    servers: Servers, client: Client, admin: Client
) -> None:
    """FastStream's default would terminate it: then the wake-up were lost."""
    request = TurnRequested(user_id=uuid7(), turn_id=uuid7())
    broker = make_broker(servers.nats_url("turn_runner"), "test-bus-handler")
    deliveries: list[int] = []
    done = asyncio.Event()

    @broker.subscriber(**subscription(TURN_CONSUMER))
    async def handler(message: NatsMessage) -> None:
        if TurnRequested.model_validate_json(message.body).turn_id != request.turn_id:
            await message.ack()  # what other tests left
            return
        deliveries.append(message.raw_message.metadata.num_delivered)
        if len(deliveries) == 1:
            raise RuntimeError("broke before it acknowledged")
        await message.ack()
        done.set()

    await broker.start()
    try:
        await publish(client, request)
        await asyncio.wait_for(done.wait(), 20)
        await client.flush()
    finally:
        await broker.stop()
    assert deliveries == [1, 2]
    assert not await is_kept(admin, request), "a work queue keeps nothing that was acknowledged"


async def is_kept(admin: Client, request: TurnRequested) -> bool:
    try:
        last = await admin.jetstream().get_last_msg("TURN", request.subject())
    except nats.js.errors.NotFoundError:
        return False
    return last.data == request.to_bytes()


# Refusals


REFUSED_TO_SAY = {
    "gateway": ["$JS.API.STREAM.DELETE.LOG", "$JS.API.CONSUMER.MSG.NEXT.TURN.turn-runner", "$JS.ACK.TURN.x"],
    "turn_runner": [
        "ctl.stop.x",
        "$JS.API.STREAM.PURGE.TURN",
        "$JS.API.CONSUMER.CREATE.LOG.x.log.y",
        "_INBOX.gateway.x",
    ],
}
REFUSED_TO_HEAR = {
    "gateway": [">", "fact.>", "ctl.stop.*", "turn.requested.v1", "_INBOX.turn_runner.>", "_INBOX.>", "$SYS.>"],
    "turn_runner": [">", "log.*", "fact.>", "_INBOX.gateway.>", "_INBOX.>", "$JS.EVENT.>"],
}


@pytest.mark.parametrize(
    ("service", "verb", "subject"),
    [(service, "publish", s) for service, subjects in REFUSED_TO_SAY.items() for s in subjects]
    + [(service, "subscribe", s) for service, subjects in REFUSED_TO_HEAR.items() for s in subjects],
)
async def test_the_broker_refuses_what_is_none_of_a_service_s_business(
    servers: Servers, service: str, verb: str, subject: str
) -> None:
    refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def failed(error: Exception) -> None:
        if not refused.done():
            refused.set_result(str(error).lower())

    client = await nats.connect(servers.nats_url(service), error_cb=failed)
    try:
        await (client.publish(subject, b"") if verb == "publish" else client.subscribe(subject))
        assert "permissions violation" in await asyncio.wait_for(refused, 5)
    finally:
        await client.close()


def test_every_service_is_refused_something() -> None:
    assert set(REFUSED_TO_SAY) == set(REFUSED_TO_HEAR) == set(PERMISSIONS) - {"admin"}
