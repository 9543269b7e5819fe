"""The outbox relay on the real servers: nothing lost, nothing doubled, nobody blocked."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from functools import partial

import pytest
from sqlalchemy import text

from bus.connection import connect
from bus.publish import publish_stored
from chassis.relay import OutboxRelay
from contracts.ids import uuid7
from store.outbox import OutboxMessage, write
from store.store import Store, StoreAway
from store.system import outbox
from tests.kit.stack import data_folder, start_servers

DEADLINE = 30


class Town:
    """A store, a bus, an observer, and facts of one user that nobody else publishes."""

    def __init__(self, store, client, observer):
        self.store = store
        self.client = client
        self.observer = observer
        self.user = uuid7()
        self.published = Counter()

    async def commit(self, count):
        rows = [OutboxMessage(f"fact.{self.user}.sample.taken.v{n % 7}", b"{}") for n in range(count)]
        async with self.store.session(self.user) as session:
            await write(session, rows)
        return rows

    async def publish(self, subject, payload, id, headers=None):
        await publish_stored(self.client, subject, payload, id, headers, timeout=2)
        self.published[id] += 1

    def relay(self, **options):
        return OutboxRelay(self.store, self.publish, connected=lambda: self.client.is_connected, **options)

    async def kept(self):
        """How many messages of this user the stream keeps."""
        info = await self.observer.jetstream().stream_info("FACT", subjects_filter=f"fact.{self.user}.>")
        return sum((info.state.subjects or {}).values())

    async def unsent(self):
        async with self.store.system() as session:
            query = text("select count(*) from outbox where sent_at is null and subject like :mine")
            return (await session.execute(query, {"mine": f"fact.{self.user}.%"})).scalar_one()

    async def until(self, check):
        """Wait until `await check()` is true, with a deadline."""
        async with asyncio.timeout(DEADLINE):
            while not await check():  # noqa: ASYNC110 - rows in another process have no event to wait for
                await asyncio.sleep(0.05)

    async def until_all_sent(self):
        async def none_left():
            return await self.unsent() == 0

        await self.until(none_left)


@pytest.fixture(scope="module")
def servers():
    """Our own: the gateway that other tests share would sweep these rows too, and we take servers away."""
    with data_folder() as data_dir:
        running = start_servers(data_dir)
        yield running
        running.stop()


@pytest.fixture
async def town(servers):
    store = Store(servers.role_url("gateway"), servers.role_url("gateway_system"))
    relays = []
    client = await connect(
        servers.nats_url("gateway"), "relay-test", on_reconnect=partial(wake_all, relays), on_disconnect=nothing
    )
    observer = await connect(servers.nats_url(), "relay-test-observer")
    town = Town(store, client, observer)
    town.relays = relays
    # Rows of other tests would be swept along; this one counts.
    async with store.system() as session:
        await session.execute(text("update outbox set sent_at = now() where sent_at is null"))
    yield town
    await client.close()
    await observer.close()
    await store.dispose()


async def nothing():
    pass


async def wake_all(relays):
    for relay in relays:
        relay.wake()


@asynccontextmanager
async def running(town, relay):
    town.relays.append(relay)
    task = asyncio.create_task(relay.run())
    try:
        yield relay
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_rows_handed_over_after_commit_go_out_at_once(town):
    subscription = await town.observer.subscribe(f"fact.{town.user}.>")
    await town.observer.flush()
    async with running(town, town.relay(sweep_every=60)) as relay:
        (row,) = await town.commit(1)
        relay.after_commit([row])
        message = await subscription.next_msg(timeout=5)
        assert message.headers["Nats-Msg-Id"] == str(row.id)
        await town.until_all_sent()
    assert town.published == {row.id: 1}


async def test_rows_nobody_handed_over_are_swept(town):
    async with running(town, town.relay(sweep_every=0.2, batch=20)):
        rows = await town.commit(90)
        await town.until_all_sent()
    assert town.published == {row.id: 1 for row in rows}
    assert await town.kept() == 90


async def test_headers_and_payload_arrive(town):
    subscription = await town.observer.subscribe(f"fact.{town.user}.>")
    await town.observer.flush()
    row = OutboxMessage(f"fact.{town.user}.sample.taken.v1", b'{"n": 1}', headers={"traceparent": "00-1-1-01"})
    async with town.store.session(town.user) as session:
        await write(session, [row])
    assert await town.relay().sweep() == 1
    message = await subscription.next_msg(timeout=5)
    assert (message.data, message.headers["traceparent"]) == (b'{"n": 1}', "00-1-1-01")


async def test_two_relays_at_once_share_the_work_and_double_nothing(town):
    rows = await town.commit(600)
    swept = await asyncio.gather(town.relay(batch=25).sweep(), town.relay(batch=25).sweep())
    await town.until_all_sent()
    assert sum(swept) == 600
    assert min(swept) > 0
    assert town.published == {row.id: 1 for row in rows}
    assert await town.kept() == 600


async def test_rows_survive_a_broker_that_is_away_and_go_out_once(town, servers):
    async with running(town, town.relay()) as relay, running(town, town.relay()) as other:
        before = await town.commit(20)
        relay.after_commit(before)
        holding = asyncio.create_task(asyncio.to_thread(servers.hold, "nats", 3))

        async def away():
            return not town.client.is_connected

        await town.until(away)
        during = await town.commit(300)
        relay.after_commit(during[:100])
        other.after_commit(during[100:200])
        assert await town.unsent() >= 300
        await holding
        await town.until_all_sent()
    assert set(town.published) == {row.id for row in before + during}

    async def back():
        return town.observer.is_connected

    await town.until(back)
    assert await town.kept() == 320


async def test_a_row_published_by_a_process_that_died_before_marking_is_kept_once(town):
    (row,) = await town.commit(1)
    await town.publish(row.subject, row.payload, row.id)
    assert await town.relay().sweep() == 1
    assert town.published[row.id] == 2
    assert await town.kept() == 1


async def test_a_row_that_becomes_visible_late_is_not_passed_over(town):
    early = OutboxMessage(f"fact.{town.user}.sample.taken.v1", b"{}")
    async with town.store.session(town.user) as slow:
        await write(slow, [early])
        await town.commit(3)
        assert await town.relay().sweep() == 3
    assert await town.relay().sweep() == 1
    assert town.published[early.id] == 1


async def test_rows_that_the_bus_refuses_block_nobody_and_stay(town):
    refused = [OutboxMessage("nobody.listens.here", b"{}") for _ in range(2)]
    async with town.store.session(town.user) as session:
        await write(session, refused)
    async with running(town, town.relay(sweep_every=0.2, batch=2)):
        rows = await town.commit(10)
        await town.until_all_sent()
    assert set(town.published) == {row.id for row in rows}
    async with town.store.system() as session:
        left = await outbox.take(session, 10, older_than=0)
        assert {row.id for row in left} == {row.id for row in refused}
        await outbox.mark_sent(session, [row.id for row in refused])


async def test_young_rows_are_left_to_their_own_process(town):
    await town.commit(5)
    assert await town.relay().sweep(older_than=30) == 0
    assert await town.unsent() == 5
    assert await town.relay().sweep() == 5


async def test_what_does_not_fit_in_memory_is_swept(town):
    async with running(town, town.relay(sweep_every=0.2, in_flight=10)) as relay:
        rows = await town.commit(200)
        relay.after_commit(rows)
        await town.until_all_sent()
    assert set(town.published) == {row.id for row in rows}
    assert await town.kept() == 200


async def test_rows_acknowledged_while_postgres_is_away_are_marked_when_it_is_back(town, servers):
    async with running(town, town.relay()) as relay:
        rows = await town.commit(5)
        holding = asyncio.create_task(asyncio.to_thread(servers.hold, "postgres", 2))

        async def away():
            try:
                await town.store.ping()
            except StoreAway:
                return True
            return False

        await town.until(away)
        relay.after_commit(rows)
        await holding

        async def all_marked():
            try:
                return await town.unsent() == 0
            except StoreAway:
                return False

        await town.until(all_marked)
    assert town.published == {row.id: 1 for row in rows}


async def test_old_sent_rows_are_pruned_in_batches(town):
    await town.commit(25)
    await town.relay().sweep()
    async with town.store.system() as session:
        assert await outbox.prune(session, 3600) == 0
        total = 0
        while dropped := await outbox.prune(session, 0, limit=10):
            assert dropped <= 20  # ten facts and ten others
            total += dropped
    assert total >= 25


async def test_facts_stay_longer_than_the_rest(town):
    facts = await town.commit(3)
    other = OutboxMessage(f"log.{uuid7()}", b"a batch")
    async with town.store.session(town.user) as session:
        await write(session, [other])
    await town.relay().sweep()

    async def left():
        async with town.store.system() as session:
            ids = {"ids": [row.id for row in (*facts, other)]}
            return set(await session.scalars(text("select id from outbox where id = any(:ids)"), ids))

    async with town.store.system() as session:
        while await outbox.prune(session, 0, facts_older_than=3600):
            pass
    assert await left() == {row.id for row in facts}
    async with town.store.system() as session:
        while await outbox.prune(session, 0):
            pass
    assert await left() == set()
