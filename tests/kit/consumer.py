"""A consumer of the tests: hears `turn.completed.v1` of one user, and does what rows of `consumer_test` tell it to.

Its effect is a row in `consumer_test.effects`, which is not idempotent: a second one would be seen. It runs in a test's
own loop (`Reader.working`) or as a process that may be killed (`python -m tests.kit.consumer NAME USER`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import UUID

import asyncpg
from sqlalchemy import text

from bus.broker import make_broker
from chassis.consumer import BackOff, Consumer, in_one_transaction
from chassis.errors import Refused, Retryable
from contracts.subjects import ConsumerSpec
from contracts.turns import TurnCompleted
from store import Session, Store
from tests.kit.stack import Servers

MOST_DELIVERIES = 3
BACK_OFF = BackOff(first=0.05, longest=0.2)

# What a service that hears events gets from its migration, and the place of the effects.
SCHEMA = """
create schema if not exists consumer_test;
create table if not exists consumer_test.effects (consumer text, event_id uuid, process integer);
create table if not exists consumer_test.orders (event_id uuid, what text);
grant usage on schema consumer_test to turn_runner, turn_runner_system;
grant select, insert, delete on consumer_test.effects, consumer_test.orders to turn_runner, turn_runner_system;
grant select, insert on inbox to turn_runner;
grant select, delete on inbox to turn_runner_system;
-- For the test itself, which moves time.
grant update on inbox to turn_runner_system;
"""


async def make_tables(servers: Servers) -> None:
    connection: Any = await asyncpg.connect(servers.superuser_url)
    await connection.execute(SCHEMA)
    await connection.close()


def spec_of(name: str, user: UUID) -> ConsumerSpec:
    return ConsumerSpec(
        "FACT",
        name,
        f"fact.{user}.turn.completed.v1",
        ack_wait=1,
        max_ack_pending=100,
        max_deliver=MOST_DELIVERIES,
        has_inbox=True,
    )


class Reader:
    """The consumer in this process; `tries` counts how often its handler was called for an event."""

    def __init__(self, store: Store, spec: ConsumerSpec) -> None:
        self.store = store
        self.spec = spec
        self.tries: dict[UUID, int] = {}
        work = in_one_transaction(store, spec, self.read)

        async def work_and_perhaps_die(event: TurnCompleted) -> None:
            await work(event)
            if await self._is_ordered(event.id, "die behind the commit"):
                os.kill(os.getpid(), signal.SIGKILL)

        self.consumer = Consumer(store, spec, TurnCompleted, work_and_perhaps_die, BACK_OFF)

    async def read(self, session: Session, event: TurnCompleted) -> None:
        self.tries[event.id] = self.tries.get(event.id, 0) + 1
        values = {"consumer": self.spec.name, "event_id": event.id, "process": os.getpid()}
        await session.execute(text("insert into consumer_test.effects values (:consumer, :event_id, :process)"), values)
        orders = await session.execute(
            text("select what from consumer_test.orders where event_id = :event_id"), {"event_id": event.id}
        )
        wanted = {order.what for order in orders}
        if "die" in wanted:
            os.kill(os.getpid(), signal.SIGKILL)
        if "take long" in wanted:
            await asyncio.sleep(2.5 * self.spec.ack_wait)
        if "refuse" in wanted:
            raise Refused(409, "conflict", "This will never do.")
        if "ask for patience" in wanted and self.tries[event.id] == 1:
            raise Retryable("a dependency is away", delay=1.0)
        if "fail" in wanted:
            raise RuntimeError("broken on purpose, with postgresql://ada:hunter2hunter2@db/x in its words")

    async def _is_ordered(self, event_id: UUID, what: str) -> bool:
        """Takes an order that holds once."""
        async with self.store.system() as session:
            taken = await session.execute(
                text("delete from consumer_test.orders where event_id = :event_id and what = :what"),
                {"event_id": event_id, "what": what},
            )
        return taken.rowcount > 0

    @asynccontextmanager
    async def working(self, nats_url: str) -> AsyncIterator[Reader]:
        broker = make_broker(nats_url, f"{self.spec.name}-reader")
        self.consumer.hear(broker)
        await broker.start()
        try:
            yield self
        finally:
            await broker.stop()


def opened(servers: Servers) -> Store:
    return Store(servers.role_url("turn_runner"), servers.role_url("turn_runner_system"), pool_size=4, pool_timeout=5)


@contextmanager
def process_of(servers: Servers, spec: ConsumerSpec, user: UUID) -> Iterator[subprocess.Popen[str]]:
    """The consumer as a process of its own, hearing when this returns."""
    addresses = {
        "READER_NATS": servers.nats_url(),
        "READER_DATABASE": servers.role_url("turn_runner"),
        "READER_SYSTEM": servers.role_url("turn_runner_system"),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.kit.consumer", spec.name, str(user)],
        env=os.environ | addresses,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "hearing\n"
        yield process
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()


async def _live(name: str, user: UUID) -> None:
    store = Store(os.environ["READER_DATABASE"], os.environ["READER_SYSTEM"], pool_size=2)
    async with Reader(store, spec_of(name, user)).working(os.environ["READER_NATS"]):
        print("hearing", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_live(sys.argv[1], UUID(sys.argv[2])))
