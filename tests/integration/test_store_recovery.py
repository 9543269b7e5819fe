"""A turn that is given back, and one that is taken up: what the rows say in between, and what stays unknown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from contracts.batches import BatchId
from contracts.ids import uuid7
from store import turns
from store.outbox import OutboxMessage
from store.turns import AttemptResult, TakenUp, TurnLost
from tests.kit.stack import Servers
from tests.kit.turns import Database, Person, Running, call


@pytest.fixture
async def database(servers: Servers) -> AsyncIterator[Database]:
    async with Database.opened(servers) as opened:
        yield opened


@pytest.fixture
async def person(database: Database) -> Person:
    return await database.person()


async def release(running: Running, attempt: AttemptResult | None = None) -> list[OutboxMessage] | None:
    async with running.transaction() as session:
        return await turns.release(session, running.held, attempt)


async def claimed_again(running: Running) -> Running:
    held = await running.person.claim(running.turn_id)
    assert held is not None
    return Running(running.person, held)


async def take_up(running: Running, streamed: dict[int, int] | None = None) -> TakenUp:
    async with running.transaction() as session:
        return await turns.take_up(session, running.held, streamed or {})


# Giving back


async def test_a_turn_that_is_given_back_is_queued_with_a_wake_up_in_one_transaction(
    person: Person, database: Database
) -> None:
    running = await person.running(runner_id=await database.alive(), traceparent="00-a-b-01")
    await running.ask(call(), text="so far")
    (wake_up,) = await release(running) or []
    assert (wake_up.subject, wake_up.headers["traceparent"]) == ("turn.requested.v1", "00-a-b-01")
    row = await running.row()
    assert (row.status, row.runner_id, row.recoveries, row.epoch) == ("queued", None, 0, 1), "nobody died"
    again = await claimed_again(running)
    assert (again.held.epoch, again.held.commit, again.held.steps) == (2, BatchId(1, 1), 1)


async def test_what_was_under_way_is_settled_with_what_is_known(person: Person, database: Database) -> None:
    running = await person.running()
    attempt = await running.open_attempt(input_tokens=100)
    known = AttemptResult(attempt, "interrupted", "released", input_tokens=100, output_tokens=7, is_estimated=True)
    await release(running, known)
    (row,) = await database.attempts(running.turn_id)
    assert (row.state, row.outcome, row.input_tokens, row.output_tokens, row.is_estimated) == (
        "interrupted",
        "released",
        100,
        7,
        True,
    )


async def test_a_release_whose_reply_was_lost_may_be_asked_for_again(person: Person, database: Database) -> None:
    running = await person.running()
    assert await release(running)
    assert await release(running) == []
    assert len([s for s in await database.outbox(running.turn_id) if s == "turn.requested.v1"]) == 2
    assert await person.claim(running.turn_id) is not None
    with pytest.raises(TurnLost):
        await release(running)


async def test_a_stop_that_was_committed_first_is_not_lost_in_a_release(person: Person, database: Database) -> None:
    running = await person.running()
    attempt = await running.open_attempt()
    await person.stop(running.held.thread_id)
    assert await release(running, AttemptResult(attempt, "interrupted", "released")) is None
    assert (await running.row()).status == "running"
    assert [a.state for a in await database.attempts(running.turn_id)] == ["open"]


async def test_stop_and_release_at_the_same_moment_leave_a_turn_that_ends(person: Person) -> None:
    for _ in range(10):
        running = await person.running()
        released, stopped = await asyncio.gather(release(running), person.stop(running.held.thread_id))
        row = await running.row()
        if released is None:
            assert (row.status, stopped.signal) == ("running", True), "its holder ends it"
        else:
            assert row.status == "stopped"


@pytest.mark.parametrize("how", ["claimed by another", "ended"])
async def test_what_is_no_longer_held_is_not_given_back(person: Person, database: Database, how: str) -> None:
    running = await person.running()
    if how == "ended":
        await running.end()
    else:
        await release(running)
        await claimed_again(running)
    before = await running.row()
    with pytest.raises(TurnLost):
        await release(running)
    assert await running.row() == before


# Taking up


@pytest.mark.parametrize("streamed", [{1: 11, 2: 99}, {1: 0}, {}])
async def test_an_open_model_call_of_an_older_epoch_is_interrupted_and_estimated(
    person: Person, database: Database, streamed: dict[int, int]
) -> None:
    running = await person.running()
    attempt = await running.open_attempt(input_tokens=40)
    for _ in range(2):  # one runner in between died before it did anything
        await release(running)
        running = await claimed_again(running)
    async with running.transaction() as session:
        assert await turns.open_attempts(session, running.held) == {1: attempt}
    await take_up(running, streamed)
    (row,) = await database.attempts(running.turn_id)
    assert (row.state, row.outcome, row.is_estimated) == ("interrupted", "interrupted", True)
    assert (row.input_tokens, row.output_tokens) == (40, streamed.get(1)), "what nobody knows stays unknown"
    await running.end()
    ledger = await database.row("select * from ledger where turn_id = :t", t=running.turn_id)
    assert (ledger.attempts, ledger.input_tokens, ledger.output_tokens) == (1, 40, streamed.get(1))
    assert ledger.is_estimated


async def test_whoever_lost_a_turn_does_not_take_it_up(person: Person, database: Database) -> None:
    running = await person.running()
    await running.open_attempt(input_tokens=40)
    await release(running)
    second = await claimed_again(running)
    await release(second)
    await claimed_again(running)
    with pytest.raises(TurnLost):
        await take_up(second)
    assert [a.state for a in await database.attempts(running.turn_id)] == ["open"]


async def test_an_end_leaves_no_older_model_call_open(person: Person, database: Database) -> None:
    running = await person.running()
    await running.open_attempt(input_tokens=40)
    await release(running)
    await (await claimed_again(running)).end()
    assert [a.state for a in await database.attempts(running.turn_id)] == ["interrupted"]


async def test_a_call_that_was_completed_keeps_its_tokens(person: Person, database: Database) -> None:
    running = await person.running()
    await running.ask(text="so far")
    before = await database.attempts(running.turn_id)
    await release(running)
    again = await claimed_again(running)
    assert await take_up(again) == TakenUp(1, "stop")
    assert await database.attempts(running.turn_id) == before


async def test_an_answer_without_a_word_is_known_by_its_attempt(person: Person) -> None:
    running = await person.running()
    attempt = await running.open_attempt()
    async with running.transaction() as session:
        await turns.settle_attempt(session, running.held, AttemptResult(attempt, "done", "stop"))
    await release(running)
    again = await claimed_again(running)
    assert (await take_up(again)).answers == 1
    assert again.held.steps == 0


async def test_taking_up_is_idempotent(person: Person, database: Database) -> None:
    running = await person.running()
    await running.open_attempt(uuid7(), input_tokens=8)
    await release(running)
    again = await claimed_again(running)
    assert await take_up(again, {1: 2}) == await take_up(again, {1: 99})
    (row,) = await database.attempts(running.turn_id)
    assert (row.input_tokens, row.output_tokens) == (8, 2)
