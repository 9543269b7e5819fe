"""The lease: how long a runner may trust itself, and what a heartbeat tells it about its turns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from turn_runner.lease import Lease


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Held:
    """A turn in our hands."""

    turn_id: UUID = field(default_factory=uuid4)
    epoch: int = 1
    is_changing_epoch: bool = False
    told: list[str] = field(default_factory=list)

    def ask_to_stop(self) -> None:
        self.told.append("stop")

    def lose(self) -> None:
        self.told.append("lost")


@dataclass
class Turns:
    held: list[Held] = field(default_factory=list)

    def holders(self) -> list[Held]:
        return list(self.held)


@dataclass
class Database:
    """Answers heartbeats with the rows it is given; `takes` seconds pass in it, `on_beat` happens meanwhile."""

    clock: Clock
    rows: list[Any] = field(default_factory=list)
    away: bool = False
    takes: float = 0.0
    on_beat: Any = None

    @asynccontextmanager
    async def system(self) -> AsyncIterator[Database]:
        if self.away:
            raise ConnectionError("refused")
        yield self

    async def execute(self, statement: Any, parameters: Any) -> list[Any]:
        if "insert" in str(statement):
            self.clock.now += self.takes
            if self.on_beat is not None:
                self.on_beat()
        return self.rows


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(clock: Clock) -> Database:
    return Database(clock)


@pytest.fixture
def lease(clock: Clock, database: Database) -> Lease:
    return Lease(database, name="test", slots=1, every=1.5, lease=6.0, trust=4.0, clock=clock)  # type: ignore[arg-type]


def row(held: Held, *, epoch: int | None = None, stop: bool = False) -> Any:
    return SimpleNamespace(
        id=held.turn_id, epoch=held.epoch if epoch is None else epoch, stop_requested_at=1 if stop else None
    )


async def test_before_the_first_heartbeat_nothing_is_good(lease: Lease) -> None:
    assert not lease.is_good
    assert lease.unbroken == 0.0


async def test_trust_counts_from_when_the_heartbeat_was_sent(lease: Lease, clock: Clock, database: Database) -> None:
    database.takes = 3.0
    assert await lease.beat(Turns())
    assert lease.is_good
    clock.now += 0.99
    assert lease.is_good
    clock.now += 0.01
    assert not lease.is_good, "four seconds after sending, three of which were spent waiting for the answer"


async def test_a_machine_that_slept_does_not_trust_itself(lease: Lease, clock: Clock) -> None:
    await lease.beat(Turns())
    clock.now += 3600
    assert not lease.is_good


async def test_unbroken_counts_from_the_first_good_heartbeat(lease: Lease, clock: Clock) -> None:
    for _ in range(5):
        await lease.beat(Turns())
        clock.now += 1.5
    assert lease.unbroken == 7.5


async def test_a_failed_heartbeat_breaks_the_row(lease: Lease, clock: Clock, database: Database) -> None:
    await lease.beat(Turns())
    clock.now += 1.5
    database.away = True
    assert not await lease.beat(Turns())
    assert lease.is_good, "the last good one is young enough"
    database.away = False
    clock.now += 1.5
    assert await lease.beat(Turns())
    clock.now += 1.0
    assert lease.unbroken == 1.0


async def test_a_gap_of_half_the_lease_breaks_the_row_too(lease: Lease, clock: Clock) -> None:
    await lease.beat(Turns())
    clock.now += 3.0
    await lease.beat(Turns())
    assert lease.unbroken == 3.0
    clock.now += 3.1
    await lease.beat(Turns())
    assert lease.unbroken == 0.0


async def test_a_turn_that_the_database_gave_to_another_is_lost(lease: Lease, database: Database) -> None:
    ours, taken, gone = Held(), Held(), Held()
    database.rows = [row(ours), row(taken, epoch=2)]
    await lease.beat(Turns([ours, taken, gone]))
    assert (ours.told, taken.told, gone.told) == ([], ["lost"], ["lost"])


async def test_a_stop_in_the_row_is_told_at_every_heartbeat(lease: Lease, database: Database) -> None:
    held = Held()
    database.rows = [row(held, stop=True)]
    await lease.beat(Turns([held]))
    await lease.beat(Turns([held]))
    assert held.told == ["stop", "stop"]


async def test_a_turn_claimed_while_the_heartbeat_was_under_way_is_not_lost(lease: Lease, database: Database) -> None:
    turns = Turns()
    claimed = Held()
    database.on_beat = lambda: turns.held.append(claimed)
    await lease.beat(turns)
    assert claimed.told == []
    database.on_beat = None
    await lease.beat(turns)
    assert claimed.told == ["lost"], "the next heartbeat looks at it"


async def test_a_turn_claimed_again_meanwhile_is_not_judged_by_its_older_epoch(
    lease: Lease, database: Database
) -> None:
    held = Held()
    turns = Turns([held])
    database.rows = [row(held)]
    database.on_beat = lambda: setattr(held, "epoch", 2)
    await lease.beat(turns)
    assert held.told == []


async def test_a_holder_that_raises_its_own_epoch_is_left_alone(lease: Lease, database: Database) -> None:
    held = Held(is_changing_epoch=True)
    database.rows = [row(held, epoch=2)]
    await lease.beat(Turns([held]))
    assert held.told == []


async def test_a_turn_that_ended_while_the_heartbeat_was_under_way_is_nobody_s(
    lease: Lease, database: Database
) -> None:
    ended = Held()
    turns = Turns([ended])
    database.on_beat = turns.held.clear
    await lease.beat(turns)
    assert ended.told == []


async def test_a_failed_heartbeat_judges_nobody(lease: Lease, database: Database) -> None:
    held = Held()
    database.away = True
    await lease.beat(Turns([held]))
    assert held.told == []


async def test_good_waits_for_the_next_good_heartbeat(lease: Lease, database: Database) -> None:
    waiting = asyncio.create_task(lease.good())
    database.away = True
    await asyncio.sleep(0)
    await lease.beat(Turns())
    await asyncio.sleep(0)
    assert not waiting.done()
    database.away = False
    await lease.beat(Turns())
    await asyncio.wait_for(waiting, 1)
    await asyncio.wait_for(lease.good(), 1)


async def test_next_beat_waits_even_while_the_lease_is_good(lease: Lease) -> None:
    await lease.beat(Turns())
    waiting = asyncio.create_task(lease.next_beat())
    await asyncio.sleep(0)
    assert not waiting.done()
    await lease.beat(Turns())
    await asyncio.wait_for(waiting, 1)


def test_a_runner_s_id_is_new_with_every_process(database: Database) -> None:
    made = [Lease(database, name="n", slots=1, every=1, lease=6, trust=4) for _ in range(2)]  # type: ignore[arg-type]
    assert made[0].id != made[1].id
