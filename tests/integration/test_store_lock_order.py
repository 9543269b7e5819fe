"""Threads before turns, whoever locks them: a sweep that held a turn's row and waited for its user would wait for ever
for whoever holds that user and waits for the row.

Each test stops one side between two statements and lets the sweep come as far as it can, so the order in which locks
are asked for is the same every time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import pytest

from store import Session, turns
from store.system import sweep
from store.system.sweep import Swept
from store.turns import Wish
from tests.kit.stack import Servers
from tests.kit.turns import ROOMY, Database, Person, Running
from tests.kit.waiting import awaited

WAITS_FOR_A_USER = "select 1 from pg_locks where locktype = 'advisory' and not granted"


class Paused:
    """A session that rests behind its first statement: by then its thread and its user are locked."""

    def __init__(self, session: Session) -> None:
        self.rests = asyncio.Event()
        self.goes_on = asyncio.Event()
        self._session = session

    async def execute(self, *statement: Any) -> Any:
        done = await self._session.execute(*statement)
        if not self.rests.is_set():
            self.rests.set()
            await self.goes_on.wait()
        return done


@pytest.fixture
async def database(servers: Servers) -> AsyncIterator[Database]:
    async with Database.opened(servers) as opened:
        yield opened


@pytest.fixture
async def person(database: Database) -> Person:
    return await database.person()


async def side_by_side(
    database: Database, act: Callable[[Session], Awaitable[Any]], session_of: Any, sweeping: Awaitable[Swept]
) -> Swept:
    """`act` locks thread and user, the sweep runs until it waits for that user, then both go on to their ends."""
    async with session_of as session:
        paused = Paused(session)
        acting = asyncio.ensure_future(act(cast("Session", paused)))
        await paused.rests.wait()
        swept = asyncio.ensure_future(sweeping)
        await awaited(lambda: database.rows(WAITS_FOR_A_USER), what="the sweep waits for the user")
        paused.goes_on.set()
        await acting
    return await swept


async def recover_dead(database: Database) -> Swept:
    async with database.runner.system() as session:
        return await sweep.recover_dead(session, ROOMY, budget=0)


async def stop_queued(database: Database) -> Swept:
    async with database.runner.system() as session:
        return await sweep.stop_queued(session, ROOMY)


async def two_of_a_dead_runner(person: Person, database: Database) -> tuple[Running, Running]:
    dead = await database.alive(lease=-1)
    return await person.running(runner_id=dead), await person.running(runner_id=dead)


async def test_the_sweep_and_the_end_of_another_turn_of_the_same_user(person: Person, database: Database) -> None:
    lost, ending = await two_of_a_dead_runner(person, database)
    last_words = ending.ending()

    async def end(session: Session) -> None:
        await turns.end(session, ending.held, last_words)

    session_of = database.runner.session(person.user_id)
    swept = await side_by_side(database, end, session_of, recover_dead(database))
    assert swept.failed >= 1
    assert ((await lost.row()).status, (await ending.row()).status) == ("failed", "finished")


async def test_the_sweep_and_a_message_into_another_thread_of_the_same_user(person: Person, database: Database) -> None:
    lost, busy = await two_of_a_dead_runner(person, database)

    async def say(session: Session) -> None:
        wish = Wish(person.user_id, busy.held.thread_id, [{"type": "text", "text": "instead"}])
        await turns.accept(session, wish, ROOMY)

    session_of = database.door.session(person.user_id)
    swept = await side_by_side(database, say, session_of, recover_dead(database))
    row = await busy.row()
    assert swept.failed >= 1
    assert (await lost.row()).status == "failed"
    assert (row.status, row.ended_by, row.stop_requested_at is not None) == ("running", "replaced", True)


async def test_the_sweep_of_stops_and_a_message_into_another_thread_of_the_same_user(
    person: Person, database: Database
) -> None:
    first, second = await person.say(await person.thread()), await person.say(await person.thread())
    stop = "update turns set stop_requested_at = now() where id = any(:turns)"
    await database.rows(stop, turns=[first.turn_id, second.turn_id])

    async def say(session: Session) -> None:
        wish = Wish(person.user_id, second.thread_id, [{"type": "text", "text": "instead"}])
        await turns.accept(session, wish, ROOMY)

    session_of = database.door.session(person.user_id)
    swept = await side_by_side(database, say, session_of, stop_queued(database))
    ends = [await database.turn(accepted.turn_id) for accepted in (first, second)]
    assert swept.stopped >= 1
    assert [(row.status, row.ended_by) for row in ends] == [("stopped", "user"), ("stopped", "replaced")]
