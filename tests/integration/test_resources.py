"""What open streams hold: no database session, and nothing else that others would miss.

Five hundred streams stand on twenty database connections: five for each of the two logins of the gateway and of the
runner. If a stream held one, the twenty-first would wait for ever.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from cli.bench.batches import Message
from cli.bench.client import TurnClient, Watch
from cli.bench.transactions import watched_transactions
from contracts.ids import uuid7
from store.activity import Activity, watching
from tests.kit.gateway import Gateway, Person, gateway_on, person_at
from tests.kit.model import ScriptedModel
from tests.kit.runner import runner_on
from tests.kit.stack import Servers
from tests.kit.waiting import awaited

STREAMS = 500
SMALL = {"RETINUE_DATABASE_POOL": "5", "RETINUE_TURNS_PER_USER": "1000", "RETINUE_TURNS_TOTAL": "1000"}
NAMES = ("gateway-of-resources", "runner-of-resources")
CONNECTIONS = 5 * 2 * len(NAMES)


@pytest.fixture(scope="module")
def gateway(servers: Servers) -> Iterator[Gateway]:
    with gateway_on(servers, SMALL | {"RETINUE_INSTANCE": NAMES[0]}) as running:
        yield running


@pytest.fixture(scope="module")
def runner(servers: Servers) -> Iterator[None]:
    with ScriptedModel.started() as model:
        settings = SMALL | {
            "OPENAI_BASE_URL": model.url,
            "RETINUE_MODEL": "openai/scripted",
            "RETINUE_RUNNER_SLOTS": "600",
            "RETINUE_INSTANCE": NAMES[1],
        }
        with runner_on(servers, settings):
            yield


@pytest.fixture
async def owner(servers: Servers) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(servers.superuser_url)
    yield connection
    await connection.close()


@pytest.fixture
async def person(gateway: Gateway, owner: Any) -> AsyncIterator[Person]:
    """Goes at the end, with all that they had: no later test shall find five hundred turns."""
    person = await asyncio.to_thread(person_at, gateway)
    yield person
    await owner.execute("delete from users where id = $1", UUID(person.id))


async def threads_of(owner: Any, person: Person) -> list[str]:
    user = UUID(person.id)
    agent = await owner.fetchval("select id from agents where user_id = $1", user)
    ids = [uuid7() for _ in range(STREAMS)]
    await owner.executemany(
        "insert into threads (id, user_id, agent_id) values ($1, $2, $3)", [(id, user, agent) for id in ids]
    )
    return [str(id) for id in ids]


def has_words(message: Message) -> bool:
    return any(part["type"] == "text" and part["text"] for part in message.reducer.parts)


async def opened(client: TurnClient, threads: list[str]) -> list[Watch]:
    """Every stream shows the first word of its answer, and stays open."""
    at_once = asyncio.Semaphore(20)

    async def open_one(thread: str) -> Watch:
        async with at_once:
            watch = await client.send(thread, "Take your time [[tokens=5000 rate=1]]")
        await watch.until(has_words, 120)
        return watch

    return list(await asyncio.gather(*map(open_one, threads)))


async def connections(activity: Activity) -> dict[str, int]:
    """Of the two services, by what they are doing."""
    found: dict[str, int] = {}
    for sessions in await activity.sessions():
        if sessions.name.startswith(NAMES):
            found[sessions.state] = found.get(sessions.state, 0) + sessions.count
    return found


@pytest.mark.timeout(300)
async def test_five_hundred_streams_hold_no_database_session(
    servers: Servers, gateway: Gateway, runner: None, person: Person, owner: Any, record_property: Any
) -> None:
    threads = await threads_of(owner, person)
    begun = time.monotonic()
    async with TurnClient(gateway.url, person.token) as client, watching(servers.superuser_url) as activity:
        async with watched_transactions(servers.superuser_url) as seen:
            watches = await opened(client, threads)
            took = time.monotonic() - begun
            assert all(watch.connections == 1 for watch in watches)
            samples = [await connections(activity) for _ in range(20)]
            assert max(sum(sample.values()) for sample in samples) <= CONNECTIONS

            async def all_idle() -> bool:
                return set(await connections(activity)) <= {"idle"}

            await awaited(all_idle, 10, "every connection is idle while 500 streams are open")
            running = "select count(*) from turns where user_id = $1 and status = 'running'"
            assert await owner.fetchval(running, UUID(person.id)) == STREAMS
            asked = time.monotonic()
            await client.thread()  # whoever else comes is served
            assert time.monotonic() - asked < 5
        seen.refuse_old()
        for watch in watches:
            watch.close()
    transactions = f"oldest transaction {seen.oldest_age:.2f} s in {seen.samples} samples"
    figures = f"open in {took:.1f} s; {transactions}; connections {samples[-1]}"
    record_property("resources", figures)
    print(f"\n{figures}")
