"""The sweep: turns whose runner died, orphans of one's own, wake-ups that were lost, turns that may run now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from contracts.batches import START, BatchId
from contracts.ids import uuid7
from store.outbox import OutboxMessage
from store.system import runners, sweep
from store.system.sweep import Swept
from store.turns import Limits
from tests.kit.runner import chunks_of
from tests.kit.stack import Servers
from tests.kit.turns import ROOMY, Database, Person, Running, call


@pytest.fixture
async def database(servers: Servers) -> AsyncIterator[Database]:
    async with Database.opened(servers) as opened:
        yield opened


@pytest.fixture
async def person(database: Database) -> Person:
    return await database.person()


async def recover_dead(database: Database, budget: int = 5) -> Swept:
    async with database.runner.system() as session:
        return await sweep.recover_dead(session, ROOMY, budget=budget)


async def recover_orphans(database: Database, runner_id: UUID, *held: UUID, budget: int = 5) -> Swept:
    async with database.runner.system() as session:
        return await sweep.recover_orphans(session, runner_id, lambda: held, ROOMY, budget=budget)


async def how(running: Running) -> tuple[str, str | None]:
    row = await running.row()
    return row.status, row.ended_by


def about(swept: Swept, turn_id: UUID) -> list[OutboxMessage]:
    named = str(turn_id)
    return [m for m in swept.outbox if named in m.subject or named.encode() in m.payload]


async def over_budget(running: Running, recoveries: int = 5) -> None:
    await running.person.database.rows(
        "update turns set recoveries = :n where id = :t", n=recoveries, t=running.turn_id
    )


@pytest.mark.parametrize("death", ["its lease is past", "it has no row"])
async def test_a_turn_whose_runner_is_dead_goes_back_to_the_queue(
    person: Person, database: Database, death: str
) -> None:
    runner_id = await database.alive(lease=-1) if death == "its lease is past" else uuid7()
    running = await person.running(runner_id=runner_id, traceparent="00-a-b-01")
    await running.ask(call(), text="so far")
    swept = await recover_dead(database)
    row = await running.row()
    assert (row.status, row.runner_id, row.recoveries, row.epoch) == ("queued", None, 1, 1)
    assert swept.recovered >= 1
    (wake_up,) = about(swept, running.turn_id)
    assert wake_up.subject == "turn.requested.v1"
    assert wake_up.headers["traceparent"] == "00-a-b-01", "with the trace that it began with"
    again = await person.claim(running.turn_id)
    assert again is not None
    assert (again.epoch, again.commit, again.steps) == (2, BatchId(1, 1), 1), "where the last commit left it"


async def test_a_turn_that_was_brought_back_too_often_fails_visibly(person: Person, database: Database) -> None:
    running = await person.running(runner_id=await database.alive(lease=-1))
    await running.ask(asked := call())
    await over_budget(running)
    swept = await recover_dead(database)
    assert await how(running) == ("failed", "interrupted")
    assert swept.failed >= 1
    batch = next(m.payload for m in swept.outbox if m.subject == f"log.{running.turn_id}")
    said = chunks_of(batch[16:])
    assert [chunk["type"] for chunk in said] == ["tool-output-error", "message-metadata", "error"]
    assert said[0]["toolCallId"] == str(asked.id)
    assert "try again" in said[-1]["errorText"]
    assert (await running.row()).error["error"] == "interrupted"


async def test_the_budget_counts_how_often_a_turn_was_brought_back(person: Person, database: Database) -> None:
    running = await person.running(runner_id=await database.alive(lease=-1))
    for _ in range(2):
        await recover_dead(database, budget=2)
        assert (await running.row()).status == "queued"
        assert await person.claim(running.turn_id, await database.alive(lease=-1)) is not None
    await recover_dead(database, budget=2)
    row = await running.row()
    assert (row.status, row.recoveries, row.epoch) == ("failed", 2, 4)


async def test_a_dead_runner_s_turn_that_shall_stop_is_stopped(person: Person, database: Database) -> None:
    running = await person.running(runner_id=await database.alive(lease=-1))
    await person.stop(running.held.thread_id)
    await recover_dead(database)
    assert await how(running) == ("stopped", "user")


async def test_the_living_are_left_alone(person: Person, database: Database) -> None:
    running = await person.running(runner_id=await database.alive(lease=30))
    await recover_dead(database)
    assert await how(running) == ("running", None)


async def test_a_turn_that_comes_back_keeps_its_place_and_the_next_waits(person: Person, database: Database) -> None:
    running = await person.running(thread_id := await person.thread(), runner_id=await database.alive(lease=-1))
    waiting = await person.say(thread_id, busy="queue")
    await recover_dead(database)
    assert await how(running) == ("queued", None)
    assert (await database.turn(waiting.turn_id)).status == "waiting"


async def test_the_end_of_a_dead_turn_lets_the_next_run(person: Person, database: Database) -> None:
    running = await person.running(thread_id := await person.thread(), runner_id=await database.alive(lease=-1))
    waiting = await person.say(thread_id, busy="queue")
    await over_budget(running)
    swept = await recover_dead(database)
    assert (await database.turn(waiting.turn_id)).status == "queued"
    assert about(swept, waiting.turn_id)
    assert await how(running) == ("failed", "interrupted")


async def test_two_sweeps_at_once_bring_each_turn_back_once(person: Person, database: Database) -> None:
    dead = await database.alive(lease=-1)
    held = [await person.running(runner_id=dead) for _ in range(12)]
    swept = await asyncio.gather(*(recover_dead(database) for _ in range(4)))
    assert [(await running.row()).recoveries for running in held] == [1] * 12
    for running in held:
        assert len([m for each in swept for m in about(each, running.turn_id)]) == 1


async def test_two_sweeps_at_once_end_each_turn_once(person: Person, database: Database) -> None:
    dead = await database.alive(lease=-1)
    held = [await person.running(runner_id=dead) for _ in range(12)]
    for running in held:
        await over_budget(running)
    swept = await asyncio.gather(*(recover_dead(database) for _ in range(4)))
    await recover_dead(database)
    assert [await how(running) for running in held] == [("failed", "interrupted")] * 12
    for running in held:
        ends = [m for each in swept for m in each.outbox if m.subject == f"log.{running.turn_id}"]
        assert len(ends) <= 1
        assert len([s for s in await database.outbox(running.turn_id) if s.startswith("log.")]) == 1


async def test_a_turn_whose_thread_is_locked_waits_for_the_next_sweep(person: Person, database: Database) -> None:
    running = await person.running(runner_id=await database.alive(lease=-1))
    await over_budget(running)
    async with database.owner.begin() as connection:
        await connection.execute(
            text("select id from threads where id = :t for no key update"), {"t": running.held.thread_id}
        )
        await recover_dead(database)
        assert await how(running) == ("running", None)
    await recover_dead(database)
    assert await how(running) == ("failed", "interrupted")


@pytest.mark.parametrize("touch", ["nothing", "an attempt", "a commit"])
async def test_an_orphan_goes_back_to_the_queue_wherever_it_is(person: Person, database: Database, touch: str) -> None:
    runner_id = await database.alive()
    running = await person.running(runner_id=runner_id)
    if touch != "nothing":
        await (running.open_attempt() if touch == "an attempt" else running.ask(text="so far"))
    swept = await recover_orphans(database, runner_id)
    row = await running.row()
    assert (row.status, row.runner_id, row.recoveries, row.epoch) == ("queued", None, 1, 1)
    assert swept.recovered == 1
    again = await person.claim(running.turn_id)
    assert again is not None
    assert (again.epoch, again.commit) == (2, BatchId(1, 1) if touch == "a commit" else START)


async def test_an_orphan_that_was_one_too_often_fails(person: Person, database: Database) -> None:
    runner_id = await database.alive()
    running = await person.running(runner_id=runner_id)
    assert (await recover_orphans(database, runner_id, budget=0)).failed == 1
    assert await how(running) == ("failed", "interrupted")


async def test_an_orphan_that_shall_stop_is_stopped(person: Person, database: Database) -> None:
    runner_id = await database.alive()
    running = await person.running(runner_id=runner_id)
    await person.stop(running.held.thread_id)
    assert (await recover_orphans(database, runner_id)).stopped == 1
    assert await how(running) == ("stopped", "user")
    running = await person.running(runner_id=runner_id)
    await person.say(running.held.thread_id)
    assert (await recover_orphans(database, runner_id)).stopped == 1
    assert await how(running) == ("stopped", "replaced")


async def test_what_is_held_and_what_is_another_s_is_no_orphan(person: Person, database: Database) -> None:
    runner_id, other_id = await database.alive(), await database.alive()
    held = await person.running(runner_id=runner_id)
    other = await person.running(runner_id=other_id)
    swept = await recover_orphans(database, runner_id, held.turn_id)
    assert (swept.recovered, swept.failed, swept.stopped, swept.outbox) == (0, 0, 0, [])
    assert await how(held) == await how(other) == ("running", None)


async def test_a_stop_that_came_while_a_turn_went_back_to_the_queue_is_carried_out(
    person: Person, database: Database
) -> None:
    accepted = await person.say(await person.thread())
    await database.rows("update turns set stop_requested_at = now() where id = :t", t=accepted.turn_id)
    async with database.runner.system() as session:
        assert (await sweep.stop_queued(session, ROOMY)).stopped >= 1
    row = await database.turn(accepted.turn_id)
    assert (row.status, row.ended_by) == ("stopped", "user")


async def test_a_lost_wake_up_is_asked_for_again_once_it_is_old(person: Person, database: Database) -> None:
    accepted = await person.say(await person.thread(), traceparent="00-a-b-01")

    async def asked(age: float) -> list[str]:
        async with database.runner.system() as session:
            swept = await sweep.ask_again(session, age=age)
        return [m.headers["traceparent"] for m in swept.outbox if str(accepted.turn_id).encode() in m.payload]

    assert await asked(5) == []
    older = "update turns set queued_at = queued_at - interval '6 seconds' where id = :t"
    await database.rows(older, t=accepted.turn_id)
    assert await asked(30) == []
    assert await asked(5) == ["00-a-b-01"], "with the trace that it began with"
    assert await asked(5) == [], "its age counts anew"
    assert len([s for s in await database.outbox(accepted.turn_id) if s == "turn.requested.v1"]) == 2


async def test_waiting_turns_that_could_run_are_found_and_others_are_not(person: Person, database: Database) -> None:
    one = Limits(per_user=1, total=1_000_000)
    behind = await database.person()
    await behind.running(thread_id := await behind.thread())
    await behind.say(thread_id, busy="queue")
    await person.running(limits=one)
    waiting = await person.say(await person.thread(), limits=one)
    async with database.runner.system() as session:
        users = await sweep.waiting_users(session, ROOMY)
    assert person.user_id in users
    assert behind.user_id not in users, "its thread is busy"
    async with database.runner.system() as session:
        assert (await sweep.promote_user(session, person.user_id, one)).promoted == 0
    async with database.runner.system() as session:
        assert (await sweep.promote_user(session, person.user_id, ROOMY)).promoted == 1
    assert (await database.turn(waiting.turn_id)).status == "queued"


async def test_a_heartbeat_tells_what_a_runner_holds_and_extends_its_life(person: Person, database: Database) -> None:
    runner_id = await database.alive(lease=1)
    running = await person.running(runner_id=runner_id)
    await person.stop(running.held.thread_id)
    before = (await database.row("select alive_until from runners where id = :r", r=runner_id)).alive_until
    async with database.runner.system() as session:
        (held,) = await runners.beat(session, runner_id, name="test", slots=1, lease=60)
    assert (held.turn_id, held.epoch) == (running.turn_id, 1)
    assert held.stop_requested_at is not None
    row = await database.row("select alive_until, slots from runners where id = :r", r=runner_id)
    assert row.alive_until - before > timedelta(seconds=50)
    assert row.slots == 1


async def test_a_runner_that_leaves_is_dead_at_once_and_the_long_dead_are_forgotten(database: Database) -> None:
    leaving, dead, old = await database.alive(), await database.alive(lease=-60), await database.alive(lease=-90_000)
    await database.gone(leaving)
    async with database.runner.system() as session:
        await runners.bury(session)
    left = {row.id for row in await database.rows("select id from runners")}
    assert {leaving, dead, old} & left == {dead}


async def test_a_turn_that_is_claimed_while_the_sweep_looks_is_no_orphan(person: Person, database: Database) -> None:
    runner_id = await database.alive()
    held = await person.running(runner_id=runner_id)
    answers = iter([[], [held.turn_id]])  # the claim is noticed between the two looks
    async with database.runner.system() as session:
        swept = await sweep.recover_orphans(session, runner_id, lambda: next(answers), ROOMY, budget=5)
    assert (swept.recovered, swept.failed, swept.stopped, swept.outbox) == (0, 0, 0, [])
    assert await how(held) == ("running", None)
