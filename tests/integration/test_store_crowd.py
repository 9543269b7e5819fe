"""Many at once on few threads: doors, stops, claims, commits, ends and sweeps neither deadlock nor double a turn.

And one at a time, in any order that hypothesis thinks of: the rows go where the model of `turns.md` says.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from contracts.ids import uuid7
from contracts.turns import TurnStatus
from store import StoreAway
from store.system import sweep
from store.turns import Limits, QueueFull, ThreadBusy, TurnLost
from store.turns.endings import interrupted_result
from tests.kit.stack import Servers
from tests.kit.turns import Database, Person, Running, call

FEW = Limits(per_user=3, total=1_000_000, waiting_per_thread=4)
ACTS = 1000
EXPECTED = (ThreadBusy, QueueFull, TurnLost)


@pytest.fixture
async def database(servers: Servers) -> AsyncIterator[Database]:
    async with Database.opened(servers) as opened:
        yield opened


class Crowd:
    """Two people, five threads, and everybody who may touch a turn."""

    def __init__(self, database: Database, people: list[Person], threads: list[tuple[Person, UUID]]) -> None:
        self.database = database
        self.people = people
        self.threads = threads
        self.held: list[Running] = []
        self.dice = random.Random(20261130)
        self.left = ACTS
        self.done: Counter[str] = Counter()

    async def act(self) -> None:
        acts = [self.say] * 5 + [self.stop] * 2 + [self.claim] * 5 + [self.work] * 4 + [self.end] * 4 + [self.sweep] * 2
        while self.left > 0:
            self.left -= 1
            chosen = self.dice.choice(acts)
            try:
                await chosen()
            except EXPECTED as expected:
                self.done[type(expected).__name__] += 1
            except StoreAway as wrong:
                raise AssertionError(f"{chosen.__name__}: {wrong.__cause__}") from wrong
            self.done[chosen.__name__] += 1

    async def say(self) -> None:
        person, thread_id = self.dice.choice(self.threads)
        key = self.dice.choice([None, None, "a", "b"])
        wish = {"idempotency_key": key and f"{thread_id}{key}", "request_hash": b"1" if key else None}
        await person.say(thread_id, busy=self.dice.choice(["replace", "queue", "reject"]), limits=FEW, **wish)

    async def stop(self) -> None:
        person, thread_id = self.dice.choice(self.threads)
        await person.stop(thread_id, limits=FEW)

    async def claim(self) -> None:
        person = self.dice.choice(self.people)
        query = "select id from turns where user_id = :u and status = 'queued' order by random() limit 1"
        for row in await self.database.rows(query, u=person.user_id):
            runner_id = self.dead if self.dice.random() < 0.3 else self.alive
            if (held := await person.claim(row.id, runner_id)) is not None:
                self.held.append(Running(person, held))

    async def work(self) -> None:
        fresh = [running for running in self.held if running.commit.number == running.held.commit.number]
        if fresh:
            running = self.dice.choice(fresh)
            self.held.remove(running)  # a sweep of its own runner may take it for an orphan meanwhile
            asked = call()
            await running.ask(asked)
            started = await running.start(asked.id)
            await running.finish(asked.id, output=1 if started else None, error=None if started else "not run")
            self.held.append(running)

    async def end(self) -> None:
        if self.held:
            running = self.held.pop(self.dice.randrange(len(self.held)))
            calls = await self.database.calls(running.turn_id)
            left = [(call.id, interrupted_result(call.state)) for call in calls if call.state != "done"]
            await running.end(replace(running.ending(limits=FEW), closed_calls=left))

    async def sweep(self) -> None:
        async with self.database.runner.system() as session:
            await sweep.recover_dead(session, FEW, budget=5)
        async with self.database.runner.system() as session:
            await sweep.recover_orphans(session, self.alive, lambda: [r.turn_id for r in self.held], FEW, budget=5)
        async with self.database.runner.system() as session:
            await sweep.stop_queued(session, FEW)
        async with self.database.runner.system() as session:
            await sweep.ask_again(session, age=0)
        for person in self.people:
            async with self.database.runner.system() as session:
                await sweep.promote_user(session, person.user_id, FEW)

    async def unfinished(self) -> int:
        found = await self.rows("select count(*) as n from turns where user_id = any(:u) and status = any(:s)")
        return found[0].n

    async def rows(self, statement: str) -> list[Any]:
        users = [person.user_id for person in self.people]
        return await self.database.rows(statement, u=users, s=["waiting", "queued", "running"])

    alive: UUID
    dead: UUID


async def test_a_crowd_at_the_door_neither_deadlocks_nor_doubles(database: Database) -> None:
    people = [await database.person() for _ in range(2)]
    threads = [(person, await person.thread()) for person in people for _ in range(3)][:5]
    crowd = Crowd(database, people, threads)
    crowd.alive, crowd.dead = await database.alive(lease=600), await database.alive(lease=-1)
    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(crowd.act())
    assert crowd.done["claim"] > 50
    for _ in range(100):
        crowd.held.clear()
        await crowd.sweep()
        await crowd.claim()
        if not await crowd.unfinished():
            break
    assert await crowd.unfinished() == 0, "everything that was accepted comes to an end"
    ended = await crowd.rows("select id from turns where user_id = any(:u) and status <> all(:s)")
    assert len(ended) > 50
    told = await database.rows("select subject, payload from outbox")
    ends = Counter(row.subject.removeprefix("log.") for row in told if row.subject.startswith("log."))
    ledger = await crowd.rows("select turn_id from ledger where user_id = any(:u) and status <> all(:s)")
    assert {str(row.id): 1 for row in ended} == {id: n for id, n in ends.items() if id in {str(r.id) for r in ended}}
    assert {row.turn_id for row in ledger} == {row.id for row in ended}
    open_calls = "select c.id from tool_calls c join turns t on t.id = c.turn_id where t.user_id = any(:u)"
    assert await crowd.rows(f"{open_calls} and c.state <> 'done' and t.status <> all(:s)") == []
    open_attempts = "select a.id from attempts a join turns t on t.id = a.turn_id where t.user_id = any(:u)"
    assert await crowd.rows(f"{open_attempts} and a.state = 'open' and t.status <> all(:s)") == []


# One at a time


BUDGET = 1
TWO = Limits(per_user=2, total=1_000_000, waiting_per_thread=3)


class TurnsAsToldBy(RuleBasedStateMachine):
    """Three threads of one person, a model of them, and the rows. `servers` is set by the test."""

    servers: Servers

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.opened = Database.opened(self.servers)
        self.database = self.run(self.opened.__aenter__())
        self.person = self.run(self.database.person())
        self.threads = [self.run(self.person.thread()) for _ in range(3)]
        self.status: dict[UUID, str] = {}
        self.thread_of: dict[UUID, UUID] = {}
        self.busy: dict[UUID, str] = {}
        self.stop_asked: set[UUID] = set()
        self.touched: set[UUID] = set()
        self.recoveries: Counter[UUID] = Counter()
        self.held: dict[UUID, Running] = {}

    def run(self, coroutine: Any) -> Any:
        return self.loop.run(coroutine)

    def teardown(self) -> None:
        self.run(self.opened.__aexit__(None, None, None))
        self.loop.close()

    # The model

    def of(self, thread_id: UUID, *states: str) -> list[UUID]:
        """Oldest first, as they were accepted."""
        return [id for id, state in self.status.items() if self.thread_of[id] == thread_id and state in states]

    def active(self) -> list[UUID]:
        return [id for id, state in self.status.items() if state in ("queued", "running")]

    def promote(self, first: UUID) -> None:
        idle = [t for t in self.threads if not self.of(t, "queued", "running") and self.of(t, "waiting")]
        line = sorted((self.of(t, "waiting")[0] for t in idle), key=list(self.status).index)
        line.sort(key=lambda id: self.thread_of[id] != first)
        for turn_id in line[: max(0, TWO.per_user - len(self.active()))]:
            self.status[turn_id] = "queued"

    # What may happen

    @rule(at=st.integers(0, 2), busy=st.sampled_from(["replace", "queue", "reject"]))
    def say(self, at: int, busy: str) -> None:
        thread_id = self.threads[at]
        unfinished = self.of(thread_id, "waiting", "queued", "running")
        refused = (unfinished and busy == "reject") or (
            busy == "queue" and len(self.of(thread_id, "waiting")) >= TWO.waiting_per_thread
        )
        turn_id = uuid7()
        saying = self.person.say(thread_id, busy=busy, limits=TWO, turn_id=turn_id)
        if refused:
            with pytest.raises(ThreadBusy if busy == "reject" else QueueFull):
                self.run(saying)
            return
        for other in unfinished if busy == "replace" else []:
            if self.status[other] == "running":
                self.stop_asked.add(other)
            elif self.status[other] == "queued" or self.busy[other] == "replace":
                self.status[other] = "stopped"
        self.status[turn_id], self.thread_of[turn_id], self.busy[turn_id] = "waiting", thread_id, busy
        self.promote(thread_id)
        assert self.run(saying).status == self.status[turn_id]

    @rule(at=st.integers(0, 2))
    def stop(self, at: int) -> None:
        thread_id = self.threads[at]
        line = self.of(thread_id, "queued", "running") + self.of(thread_id, "waiting")
        stopped = self.run(self.person.stop(thread_id, limits=TWO))
        assert stopped.turn_id == (line[0] if line else None)
        if line and self.status[line[0]] == "running":
            assert stopped.signal
            self.stop_asked.add(line[0])
        elif line:
            self.status[line[0]] = "stopped"
            self.promote(thread_id)

    @precondition(lambda self: self.status)
    @rule(data=st.data())
    def claim(self, data: st.DataObject) -> None:
        turn_id = data.draw(st.sampled_from(list(self.status)))
        held = self.run(self.person.claim(turn_id))
        assert (held is not None) == (self.status[turn_id] == "queued")
        if held is not None:
            self.status[turn_id] = "running"
            self.held[turn_id] = Running(self.person, held)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def use_a_tool(self, data: st.DataObject) -> None:
        turn_id = data.draw(st.sampled_from(list(self.held)))
        running, asked = self.held[turn_id], call()
        if turn_id not in self.touched:
            self.touched.add(turn_id)
            self.run(running.ask(asked))
            assert self.run(running.start(asked.id)) == (turn_id not in self.stop_asked)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), status=st.sampled_from([TurnStatus.FINISHED, TurnStatus.FAILED, TurnStatus.STOPPED]))
    def end(self, data: st.DataObject, status: TurnStatus) -> None:
        turn_id = data.draw(st.sampled_from(list(self.held)))
        running = self.held.pop(turn_id)
        self.run(running.end(running.ending(status, limits=TWO)))
        self.status[turn_id] = status.value
        self.promote(self.thread_of[turn_id])

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def forget_a_turn(self, data: st.DataObject) -> None:
        """Its runner does not hold it: back to the queue, unless it shall stop or was there too often; a zombie is
        told.
        """
        turn_id = data.draw(st.sampled_from(list(self.held)))
        running = self.held.pop(turn_id)
        self.run(self.sweep_orphans_of(running.held.runner_id))
        if turn_id in self.stop_asked:
            self.status[turn_id] = "stopped"
        else:
            self.status[turn_id] = "queued" if self.recoveries[turn_id] < BUDGET else "failed"
            self.recoveries[turn_id] += 1
        self.promote(self.thread_of[turn_id])
        with pytest.raises(TurnLost):
            self.run(running.end())

    async def sweep_orphans_of(self, runner_id: UUID) -> None:
        async with self.database.runner.system() as session:
            await sweep.recover_orphans(session, runner_id, lambda: [], TWO, budget=BUDGET)

    # What always holds

    @invariant()
    def the_rows_are_as_the_model_says(self) -> None:
        rows = self.run(self.database.rows("select id, status from turns where user_id = :u", u=self.person.user_id))
        assert {row.id: row.status for row in rows} == self.status


def test_in_any_order_the_rows_go_where_the_model_says(servers: Servers) -> None:
    class OnTheseServers(TurnsAsToldBy):
        pass

    OnTheseServers.servers = servers
    run_state_machine_as_test(
        OnTheseServers,
        settings=settings(
            max_examples=8,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
