"""One consumer (`tests.kit.consumer`) on servers of its own, and what a test says to it and sees of it."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

from sqlalchemy import text

from bus.backlog import is_caught_up
from bus.connection import connect
from bus.publish import publish_stored
from bus.streams import ensure_streams
from chassis.consumer_settings import ConsumerSettings
from chassis.lost_facts import LostFacts
from chassis.relay import OutboxRelay
from contracts.ids import uuid7
from contracts.subjects import CONSUMERS
from contracts.turns import TurnCompleted, TurnStatus
from store import Store, StoreAway, outbox
from store.system import dead
from tests.kit.consumer import Reader, make_tables, opened, spec_of
from tests.kit.stack import Servers

DEADLINE = 60


class ConsumerTown:
    """One consumer of one user."""

    def __init__(self, servers, store, bus):
        self.servers = servers
        self.store = store
        self.operator = Store(servers.role_url("gateway"), servers.role_url("gateway_system"), pool_size=1)
        self.bus = bus
        self.user = uuid7()
        self.spec = spec_of(f"test-{secrets.token_hex(4)}", self.user)
        self.consumers = (*CONSUMERS, self.spec)
        self.reader = Reader(store, self.spec)
        self.relay = OutboxRelay(store, partial(publish_stored, bus), sweep_every=0.1)

    def working(self):
        return self.reader.working(self.servers.nats_url())

    def event(self):
        return TurnCompleted(user_id=self.user, turn_id=uuid7(), thread_id=uuid7(), status=TurnStatus.FINISHED)

    async def say(self, *events):
        for event in events:
            await publish_stored(self.bus, event.subject(), event.to_bytes(), event.id)

    async def order(self, event, what):
        await self.run("insert into consumer_test.orders values (:id, :what)", id=event.id, what=what)

    async def mend(self, event):
        await self.run("delete from consumer_test.orders where event_id = :id", id=event.id)

    async def run(self, statement, **values):
        async with self.store.system() as session:
            return await session.execute(text(statement), values)

    async def effects(self):
        rows = await self.run("select event_id from consumer_test.effects where consumer = :c", c=self.spec.name)
        return [row.event_id for row in rows]

    async def letters(self):
        rows = await self.run("select * from dead_letters where consumer = :c order by parked_at", c=self.spec.name)
        return rows.all()

    async def letter(self):
        """The one there is; waits for it."""
        await self.until(self.letters)
        (found,) = await self.letters()
        return found

    async def replay(self, letter):
        async with self.operator.system() as session:
            return await dead.replay(session, letter.id, self.consumers)

    async def unanswered(self):
        info = await self.bus.jetstream().consumer_info(self.spec.stream, self.spec.name)
        return info.num_pending + info.num_ack_pending

    async def nothing_left(self):
        return await self.unanswered() == 0

    async def drop(self, letter):
        async with self.operator.system() as session:
            assert await dead.drop(session, letter.id)

    async def until(self, check):
        """Waits until `await check()` is true; a database that is away is not there yet."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            try:
                if await check():
                    return
            except StoreAway:
                pass
            await asyncio.sleep(0.05)
        seen = (len(await self.effects()), len(await self.letters()), await self.unanswered())
        raise AssertionError(f"{check.__name__}: not within {DEADLINE} s (effects, letters, unanswered: {seen})")

    async def is_away(self):
        try:
            await self.store.ping()
        except StoreAway:
            return True
        return False

    async def is_handled(self):
        (letter,) = await self.letters()
        return letter.state == "handled"

    async def waits(self):
        return await self.unanswered() == 1

    async def until_done(self, *events):
        wanted = {event.id for event in events}

        async def all_there():
            return wanted <= set(await self.effects()) and await self.nothing_left()

        await self.until(all_there)

    def looker(self, **settings):
        options = ConsumerSettings(**settings)
        return LostFacts(self.store, self.spec, options, lambda: is_caught_up(self.bus, self.spec))

    async def remember(self, message, **ago):
        """The outbox has this row as sent so long ago; whether the bus has it is another matter."""
        async with self.store.system() as session:
            await outbox.write(session, [message])
            values = {"id": message.id, "ago": timedelta(**ago)}
            moved = text("update outbox set sent_at = now() - cast(:ago as interval) where id = :id")
            await session.execute(moved, values)


@asynccontextmanager
async def consumer_town_on(servers: Servers) -> AsyncIterator[ConsumerTown]:
    await make_tables(servers)
    store = opened(servers)
    bus = await connect(servers.nats_url(), "consumer-test")
    town = ConsumerTown(servers, store, bus)
    await ensure_streams(bus, consumers=town.consumers)
    relaying = asyncio.create_task(town.relay.run())
    try:
        yield town
    finally:
        relaying.cancel()
        await asyncio.gather(relaying, return_exceptions=True)
        await bus.jetstream().delete_consumer("FACT", town.spec.name)
        await bus.close()
        await town.operator.dispose()
        await store.dispose()
