"""The rules of the rows, each by the story that goes wrong without it: what `turn_model.py --without RULE` prints.

The store's own functions on the real Postgres, two transactions side by side where the story needs them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from contracts.batches import BatchId, unpack
from store import turns
from store.system import sweep
from store.system.sweep import Swept
from store.turns import Claim, TurnLost
from store.turns.endings import NOT_RUN, UNKNOWN
from tests.kit.turns import ROOMY, Database, Person, Running, call
from tests.kit.waiting import awaited
from tests.property.shore import BUDGET, Shore
from turn_runner.lease import Lease
from turn_runner.resumption import resumption


@pytest.fixture
async def database(shore: Shore) -> AsyncIterator[Database]:
    async with Database.opened(shore.servers) as opened:
        yield opened


@pytest.fixture
async def person(database: Database) -> Person:
    return await database.person()


async def recover_dead(database: Database) -> Swept:
    async with database.runner.system() as session:
        return await sweep.recover_dead(session, ROOMY, budget=BUDGET)


async def recover_orphans(database: Database, runner_id: UUID, *held: UUID) -> Swept:
    async with database.runner.system() as session:
        return await sweep.recover_orphans(session, runner_id, lambda: held, ROOMY, budget=BUDGET)


async def next_claim(person: Person, turn_id: UUID) -> Claim:
    held = await person.claim(turn_id)
    assert held is not None
    return held


class Nobody:
    def holders(self) -> list[Any]:
        return []


def process(database: Database, name: str) -> Lease:
    return Lease(database.runner, name=name, slots=8, every=1.5, lease=6.0, trust=4.0)


async def test_fresh_runner_id(person: Person, database: Database) -> None:
    """A process dies and comes back under its old name at once: what it held is not taken for its own."""
    died, back = process(database, "runner-1"), process(database, "runner-1")
    assert await died.beat(Nobody())
    running = await person.running(runner_id=died.id)
    assert died.id != back.id
    assert await back.beat(Nobody())
    assert (await recover_dead(database)).recovered == 0, "the lease of the dead has not ended"
    past = "update runners set alive_until = clock_timestamp() - interval '1 second' where id = :id"
    await database.rows(past, id=died.id)
    assert await back.beat(Nobody())
    assert (await recover_dead(database)).recovered == 1
    assert (await next_claim(person, running.turn_id)).epoch == 2


async def test_no_row_is_dead(person: Person, database: Database) -> None:
    """A runner that never had a heartbeat's row, or has none any more, holds nothing."""
    running = await person.running()
    query = "select id from runners where id = :id"
    assert await database.rows(query, id=running.held.runner_id) == []
    assert (await recover_dead(database)).recovered == 1
    assert (await running.row()).status == "queued"


async def test_own_orphans(person: Person, database: Database) -> None:
    """The reply to a claim, or to a commit, was lost: the runner lives, does not hold the turn, and lets it go."""
    runner_id = await database.alive()
    lost_claim = await person.running(runner_id=runner_id)
    lost_commit = await person.running(runner_id=runner_id)
    await lost_commit.ask(call())
    holds = await person.running(runner_id=runner_id)
    assert (await recover_dead(database)).recovered == 0
    assert (await recover_orphans(database, runner_id, holds.turn_id)).recovered == 2
    assert [(await each.row()).status for each in (lost_claim, lost_commit, holds)] == ["queued", "queued", "running"]
    with pytest.raises(TurnLost):
        await lost_commit.end()
    held = await next_claim(person, lost_commit.turn_id)
    assert (held.epoch, held.commit) == (2, lost_commit.commit)


async def test_commit_locks_row_a_zombie_is_first(person: Person, database: Database) -> None:
    """A runner sleeps within the transaction of its `started`: nobody takes the turn before that is over."""
    running, asked = await person.running(), call()
    await running.ask(asked)
    async with running.transaction() as session:
        assert await turns.start_call(session, running.held, asked.id)
        assert (await recover_dead(database)).recovered == 0, "the row is locked"
    assert (await recover_dead(database)).recovered == 1
    held = await next_claim(person, running.turn_id)
    async with database.runner.session(person.user_id) as session:
        (left,) = (await resumption(session, held, {})).open_calls
    assert left.fate == "unknown", "it may have run, so it does not run again"


async def test_commit_locks_row_a_zombie_is_last(person: Person, database: Database) -> None:
    """It wakes up while the turn is taken from it: it waits, and then it knows."""
    running, asked = await person.running(), call()
    await running.ask(asked)
    async with database.runner.system() as session:
        assert (await sweep.recover_dead(session, ROOMY, budget=BUDGET)).recovered == 1
        waking = asyncio.create_task(running.start(asked.id))
        await blocked(database)
    with pytest.raises(TurnLost):
        await waking
    held = await next_claim(person, running.turn_id)
    async with database.runner.session(person.user_id) as session:
        (left,) = (await resumption(session, held, {})).open_calls
        assert left.fate == "run", "it was only asked for"
        assert await turns.start_call(session, held, asked.id)


async def test_stop_in_started(person: Person, database: Database) -> None:
    """A stop is committed between the runner's look and its `started`, which carries the condition itself."""
    running, asked, other = await person.running(), call(), call()
    await running.ask(asked, other)
    async with database.door.session(person.user_id) as session:
        await turns.stop(session, running.held.thread_id, running.turn_id, ROOMY)
        starting = asyncio.create_task(running.start(asked.id))
        await blocked(database)
    assert await starting is False, "the stop was committed first"
    assert await running.start(other.id) is False
    assert [each.state for each in await database.calls(running.turn_id)] == ["asked", "asked"]


async def test_stop_in_started_the_other_way_round(person: Person, database: Database) -> None:
    """A `started` that was committed first is no fault: the tool runs, and the holder acts on the stop behind it."""
    running, asked = await person.running(), call()
    await running.ask(asked)
    async with running.transaction() as session:
        assert await turns.start_call(session, running.held, asked.id)
        stopping = asyncio.create_task(person.stop(running.held.thread_id, running.turn_id))
        await blocked(database)
    assert (await stopping).signal
    row = await running.row()
    assert (row.status, row.stop_requested_at is not None) == ("running", True)


async def test_ender_settles(person: Person, database: Database) -> None:
    """A runner dies behind the model's call, and the turn shall stop: no attempt stays open."""
    running = await person.running()
    await running.open_attempt(input_tokens=12)
    await person.stop(running.held.thread_id, running.turn_id)
    assert (await recover_dead(database)).stopped == 1
    (attempt,) = await database.attempts(running.turn_id)
    assert (attempt.state, attempt.is_estimated, attempt.input_tokens) == ("interrupted", True, 12)
    (ledger,) = await database.rows("select * from ledger where turn_id = :t", t=running.turn_id)
    assert (ledger.attempts, ledger.is_estimated) == (1, True)


async def test_ender_closes_calls(person: Person, database: Database) -> None:
    """A call has started, another was asked for, and a stop comes: rows and end batch give each of them a result."""
    running, started, asked = await person.running(), call(), call(idempotent=True)
    await running.ask(started, asked)
    assert await running.start(started.id)
    await person.stop(running.held.thread_id, running.turn_id)
    assert (await recover_orphans(database, running.held.runner_id)).stopped == 1
    wanted = {started.id: UNKNOWN, asked.id: NOT_RUN}
    rows = await database.calls(running.turn_id)
    assert {row.id: (row.state, row.error_text) for row in rows} == {id: ("done", text) for id, text in wanted.items()}
    batch = await end_batch_in_outbox(database, running)
    said = [json.loads(line[6:]) for line in batch.body.split(b"\n") if line.startswith(b"data: {")]
    results = {UUID(each["toolCallId"]): each["errorText"] for each in said if each["type"] == "tool-output-error"}
    assert results == wanted
    row = await running.row()
    assert (batch.id, batch.cut) == (BatchId(2, row.commit_number + 1), running.commit)


async def test_cut_of_turn(person: Person, database: Database) -> None:
    """The second claim was lost and committed nothing: the third goes on from the first one's commit."""
    first = await person.running()
    await first.ask(call())
    assert (await recover_dead(database)).recovered == 1
    second = await next_claim(person, first.turn_id)
    assert (await recover_dead(database)).recovered == 1
    third = await next_claim(person, first.turn_id)
    assert (second.epoch, third.epoch) == (2, 3)
    assert third.commit == second.commit == first.commit


async def blocked(database: Database) -> None:
    """Until somebody waits for a row that we hold."""

    async def somebody_waits() -> bool:
        return (await database.row("select count(*) as n from pg_locks where not granted")).n > 0

    await awaited(somebody_waits, 10, "somebody who waits for the row")


async def end_batch_in_outbox(database: Database, running: Running) -> Any:
    query = "select payload from outbox where subject = :log"
    (row,) = await database.rows(query, log=f"log.{running.turn_id}")
    batch = unpack(row.payload)
    assert batch.is_end
    return batch
