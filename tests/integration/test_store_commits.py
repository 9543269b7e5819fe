"""What a runner commits: once, though its reply was lost; not at all, if a stop came first or another took the turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy.exc import DBAPIError

from contracts.batches import START, BatchId
from contracts.ids import uuid7
from contracts.turns import TurnStatus
from store import turns
from store.turns import AttemptResult, TurnLost
from store.turns.closing import close_turn
from store.turns.endings import NOT_RUN, UNKNOWN
from tests.kit.runner import chunks_of
from tests.kit.stack import Servers
from tests.kit.turns import Database, Person, Running, call, end_batch_of


@pytest.fixture
async def database(servers: Servers) -> AsyncIterator[Database]:
    async with Database.opened(servers) as opened:
        yield opened


@pytest.fixture
async def person(database: Database) -> Person:
    return await database.person()


async def superseded(running: Running) -> None:
    """Another runner's epoch: the turn came back to the queue and was claimed again."""
    await running.person.database.rows(
        "update turns set status = 'queued', runner_id = null where id = :t", t=running.turn_id
    )
    assert await running.person.claim(running.turn_id) is not None


async def ended_by_another(running: Running, database: Database) -> list[Any]:
    async with database.runner.system() as session:
        return await close_turn(session, running.turn_id, TurnStatus.RUNNING, TurnStatus.FAILED, "interrupted")


# Claim


async def test_a_claim_raises_the_epoch_and_takes_the_cut_along(person: Person, database: Database) -> None:
    accepted = await person.say(thread_id := await person.thread(), channel="api", model="a/b")
    runner_id = uuid7()
    held = await person.claim(accepted.turn_id, runner_id)
    assert held is not None
    assert (held.epoch, held.commit, held.steps) == (1, START, 0)
    assert (held.thread_id, held.message_id, held.channel, held.model) == (
        thread_id,
        accepted.message_id,
        "api",
        "a/b",
    )
    row = await database.turn(accepted.turn_id)
    assert (row.status, row.epoch, row.runner_id) == ("running", 1, runner_id)


async def test_of_many_claims_one_takes(person: Person) -> None:
    accepted = await person.say(await person.thread())
    claims = await asyncio.gather(*(person.claim(accepted.turn_id) for _ in range(8)))
    assert len([held for held in claims if held is not None]) == 1


async def test_only_queued_turns_are_claimed(person: Person, database: Database) -> None:
    running = await person.running(thread_id := await person.thread())
    waiting = await person.say(thread_id, busy="queue")
    assert await person.claim(running.turn_id) is None
    assert await person.claim(waiting.turn_id) is None
    await running.end()
    assert await person.claim(running.turn_id) is None
    assert await person.claim(uuid4()) is None
    stranger = await database.person()
    assert await stranger.claim(waiting.turn_id) is None, "the wake-up names the user, and policies hold"
    assert await person.claim(waiting.turn_id) is not None


async def test_a_queued_turn_that_shall_stop_is_not_claimed(person: Person, database: Database) -> None:
    accepted = await person.say(await person.thread())
    await database.rows("update turns set stop_requested_at = now() where id = :t", t=accepted.turn_id)
    assert await person.claim(accepted.turn_id) is None


async def test_the_next_claim_goes_on_from_the_last_commit(person: Person, database: Database) -> None:
    running = await person.running()
    await running.ask(text="so far")
    begun = (await running.row()).started_at
    await database.rows("update turns set status = 'queued', runner_id = null where id = :t", t=running.turn_id)
    again = await person.claim(running.turn_id)
    assert again is not None
    assert (again.epoch, again.commit, again.steps) == (2, BatchId(1, 1), 1)
    assert (await running.row()).started_at == begun


async def test_a_stop_and_a_claim_at_the_same_moment_leave_a_turn_that_ends(person: Person, database: Database) -> None:
    for _ in range(10):
        accepted = await person.say(thread_id := await person.thread())
        held, stopped = await asyncio.gather(person.claim(accepted.turn_id), person.stop(thread_id))
        row = await database.turn(accepted.turn_id)
        if held is None:
            assert (row.status, stopped.signal) == ("stopped", False)
        else:
            assert (row.status, stopped.signal) == ("running", True)
            assert row.stop_requested_at is not None


# A reply that was lost: the same commit twice


async def test_an_attempt_is_opened_once(person: Person, database: Database) -> None:
    running = await person.running()
    attempt = await running.open_attempt()
    await running.open_attempt(attempt)
    (row,) = await database.attempts(running.turn_id)
    assert (row.id, row.state, row.epoch, row.number) == (attempt, "open", 1, 1)


async def test_a_model_call_is_committed_once(person: Person, database: Database) -> None:
    running = await person.running()
    attempt, asked = await running.open_attempt(), call(input={"b": 1, "a": [None, 2.5]})
    await running.ask(asked, attempt=attempt, text="hello")
    running.commit, running.steps = BatchId(1, 0), 0
    await running.ask(asked, attempt=attempt, text="hello")
    parts = await database.rows(
        "select * from message_parts where message_id = :m order by ordinal", m=running.held.message_id
    )
    assert [part.kind for part in parts] == ["step-start", "text", "tool"]
    (stored,) = await database.calls(running.turn_id)
    assert (stored.state, stored.epoch, stored.provider_call_id) == ("asked", 1, "provider-1")
    assert list(stored.input) == ["b", "a"], "the letter of what the model wrote"
    row = await running.row()
    assert (row.commit_epoch, row.commit_number, row.steps) == (1, 1, 1)
    assert [a.state for a in await database.attempts(running.turn_id)] == ["done"]


async def test_a_tool_starts_once_and_its_lost_reply_may_be_asked_for_again(person: Person, database: Database) -> None:
    running = await person.running()
    asked = call()
    await running.ask(asked)
    assert await running.start(asked.id)
    begun = (await database.calls(running.turn_id))[0].started_at
    assert await running.start(asked.id)
    assert (await database.calls(running.turn_id))[0].started_at >= begun


async def test_a_result_is_stored_once(person: Person, database: Database) -> None:
    running = await person.running()
    asked = call()
    await running.ask(asked)
    await running.start(asked.id)
    await running.finish(asked.id, output={"result": 42})
    running.commit = BatchId(1, 1)
    await running.finish(asked.id, output={"result": "a repeat would say the same"})
    (stored,) = await database.calls(running.turn_id)
    assert (stored.state, stored.output) == ("done", {"result": 42})


async def test_no_output_and_no_result_are_not_the_same(person: Person, database: Database) -> None:
    running = await person.running()
    first, second = call(), call()
    await running.ask(first, second)
    await running.finish(first.id, output=None)
    await running.finish(second.id, error="refused")
    stored = {row.id: row for row in await database.calls(running.turn_id)}
    assert (stored[first.id].output, stored[first.id].error_text) == (None, None)
    assert stored[second.id].error_text == "refused"


async def test_an_attempt_is_settled_once(person: Person, database: Database) -> None:
    running = await person.running()
    attempt = await running.open_attempt()
    for outcome in ("model_busy", "a repeat"):
        async with running.transaction() as session:
            await turns.settle_attempt(session, running.held, AttemptResult(attempt, "failed", outcome))
    (row,) = await database.attempts(running.turn_id)
    assert (row.state, row.outcome) == ("failed", "model_busy")


async def test_an_end_is_one_end(person: Person, database: Database) -> None:
    running = await person.running()
    await running.ask(text="done")
    ending = running.ending()
    first = await running.end(ending)
    assert await running.end(ending) == []
    assert len(first) == 2
    assert (await running.row()).status == "finished"
    subjects = await database.outbox(running.turn_id)
    assert len([s for s in subjects if s.startswith("log.")]) == 1
    assert len([s for s in subjects if s.startswith("fact.")]) == 1
    assert len(await database.rows("select * from ledger where turn_id = :t", t=running.turn_id)) == 1


async def test_an_end_that_differs_is_not_a_repeat(person: Person) -> None:
    running = await person.running()
    await running.end()
    with pytest.raises(TurnLost):
        await running.end(running.ending(TurnStatus.FAILED, "internal"))
    running.next_batch()
    with pytest.raises(TurnLost):
        await running.end(running.ending())


async def test_raising_one_s_own_epoch_may_be_asked_for_again(person: Person) -> None:
    running = await person.running()
    raised = []
    for _ in range(2):
        async with running.transaction() as session:
            raised.append(await turns.raise_epoch(session, running.held))
    assert raised == [2, 2]
    assert (await running.row()).epoch == 2


# Another epoch


async def acts(running: Running) -> dict[str, Callable[[], Awaitable[Any]]]:
    asked, attempt = call(), await running.open_attempt()
    await running.ask(asked, attempt=attempt)
    result = AttemptResult(attempt, "failed", "x")

    async def settle() -> None:
        async with running.transaction() as session:
            await turns.settle_attempt(session, running.held, result)

    async def raise_epoch() -> None:
        async with running.transaction() as session:
            await turns.raise_epoch(session, running.held)

    return {
        "open": lambda: running.open_attempt(number=2),
        "settle": settle,
        "commit": lambda: running.ask(call(), attempt=attempt),
        "start": lambda: running.start(asked.id),
        "finish": lambda: running.finish(asked.id, output="late"),
        "raise": raise_epoch,
        "end": running.end,
    }


@pytest.mark.parametrize("act", ["open", "settle", "commit", "start", "finish", "raise", "end"])
@pytest.mark.parametrize("how", ["claimed again", "ended by another", "requeued"])
async def test_a_runner_whose_turn_was_taken_changes_nothing(
    person: Person, database: Database, act: str, how: str
) -> None:
    running = await person.running()
    do = (await acts(running))[act]
    if how == "claimed again":
        await superseded(running)
    elif how == "requeued":
        await database.rows("update turns set status = 'queued', runner_id = null where id = :t", t=running.turn_id)
    else:
        await ended_by_another(running, database)
    before = [
        tuple(await running.row()),
        await database.calls(running.turn_id),
        await database.attempts(running.turn_id),
    ]
    with pytest.raises(TurnLost):
        await do()
    after = [
        tuple(await running.row()),
        await database.calls(running.turn_id),
        await database.attempts(running.turn_id),
    ]
    assert before == after


async def test_what_an_older_epoch_left_open_is_settled_by_the_next_attempt(person: Person, database: Database) -> None:
    running = await person.running()
    await running.open_attempt()
    await superseded(running)
    held = turns.Claim(**{f: getattr(running.held, f) for f in running.held.__slots__} | {"epoch": 2})
    await Running(person, held).open_attempt()
    assert [(a.epoch, a.state, a.is_estimated) for a in await database.attempts(running.turn_id)] == [
        (1, "interrupted", True),
        (2, "open", False),
    ]


async def test_a_broken_stream_settles_its_attempt_and_goes_on_under_the_next_epoch(
    person: Person, database: Database
) -> None:
    running = await person.running()
    await running.open_attempt()
    async with running.transaction() as session:
        assert await turns.raise_epoch(session, running.held) == 2
    assert [a.state for a in await database.attempts(running.turn_id)] == ["interrupted"]


# A stop against a tool


async def test_a_stop_that_commits_first_wins_over_a_tool(person: Person, database: Database) -> None:
    running = await person.running()
    asked = call()
    await running.ask(asked)
    await person.stop(running.held.thread_id)
    assert not await running.start(asked.id)
    assert (await database.calls(running.turn_id))[0].state == "asked"


async def test_a_tool_that_started_first_is_started(person: Person, database: Database) -> None:
    running = await person.running()
    asked = call()
    await running.ask(asked)
    assert await running.start(asked.id)
    assert (await person.stop(running.held.thread_id)).signal
    await running.finish(asked.id, output="it ran")
    assert (await database.calls(running.turn_id))[0].output == "it ran"


async def test_stop_and_start_at_the_same_moment_agree_on_who_was_first(person: Person, database: Database) -> None:
    for _ in range(10):
        running = await person.running()
        asked = call()
        await running.ask(asked)
        started, _ = await asyncio.gather(running.start(asked.id), person.stop(running.held.thread_id))
        (stored,) = await database.calls(running.turn_id)
        assert stored.state == ("started" if started else "asked")
        assert (await running.row()).stop_requested_at is not None


# The end by another


async def test_the_end_by_another_closes_calls_and_settles_attempts(person: Person, database: Database) -> None:
    running = await person.running()
    asked, started, done = call("asked"), call("started"), call("done")
    await running.ask(asked, started, done)
    await running.start(started.id)
    await running.finish(done.id, output=1)
    await running.open_attempt(number=2)
    batch = end_batch_of(await ended_by_another(running, database))
    assert (batch.id, batch.cut) == (BatchId(2, 3), BatchId(1, 2))
    said = chunks_of(batch.body)
    assert [chunk["type"] for chunk in said] == ["tool-output-error"] * 2 + ["message-metadata", "error"]
    assert {chunk["toolCallId"]: chunk["errorText"] for chunk in said[:2]} == {
        str(asked.id): NOT_RUN,
        str(started.id): UNKNOWN,
    }
    stored = {row.name: row for row in await database.calls(running.turn_id)}
    assert {name: (row.state, row.error_text) for name, row in stored.items()} == {
        "asked": ("done", NOT_RUN),
        "started": ("done", UNKNOWN),
        "done": ("done", None),
    }
    assert [a.state for a in await database.attempts(running.turn_id)] == ["done", "interrupted"]
    ledger = await database.row("select * from ledger where turn_id = :t", t=running.turn_id)
    assert (ledger.status, ledger.ended_by, ledger.attempts, ledger.is_estimated) == ("failed", "interrupted", 2, True)
    assert (ledger.input_tokens, ledger.output_tokens) == (10, 5)


async def test_the_end_by_another_of_a_turn_that_said_nothing_holds_its_start(
    person: Person, database: Database
) -> None:
    running = await person.running()
    batch = end_batch_of(await ended_by_another(running, database))
    assert (batch.id, batch.cut) == (BatchId(2, 1), START)
    said = chunks_of(batch.body)
    assert [chunk["type"] for chunk in said] == ["start", "message-metadata", "error"]
    assert said[0]["messageId"] == str(running.held.message_id)


async def test_two_who_end_a_turn_end_it_once(person: Person, database: Database) -> None:
    running = await person.running()
    ended = await asyncio.gather(
        running.end(), *(ended_by_another(running, database) for _ in range(3)), return_exceptions=True
    )
    assert len([each for each in ended if isinstance(each, list) and each]) == 1
    assert all(isinstance(each, list | TurnLost) for each in ended)
    subjects = await database.outbox(running.turn_id)
    assert len([s for s in subjects if s.startswith("log.")]) == 1


# The trigger


STATES = ["waiting", "queued", "running", "finished", "failed", "stopped"]
ARROWS = {
    ("waiting", "queued"),
    ("waiting", "stopped"),
    ("waiting", "failed"),
    ("queued", "running"),
    ("queued", "stopped"),
    ("queued", "failed"),
    ("running", "queued"),
    ("running", "finished"),
    ("running", "failed"),
    ("running", "stopped"),
}
WAYS = {
    "waiting": [],
    "queued": ["queued"],
    "running": ["queued", "running"],
    "finished": ["queued", "running", "finished"],
    "failed": ["failed"],
    "stopped": ["stopped"],
}


@pytest.mark.parametrize("before", STATES)
async def test_a_turn_moves_along_the_arrows_only_whoever_asks(person: Person, database: Database, before: str) -> None:
    await person.running(thread_id := await person.thread())
    move = "update turns set status = :to where id = :t"
    for after in STATES:
        accepted = await person.say(thread_id, busy="queue")
        await database.rows(
            "update turns set thread_id = :new where id = :t", new=await person.thread(), t=accepted.turn_id
        )
        for state in WAYS[before]:
            await database.rows(move, t=accepted.turn_id, to=state)
        if (before, after) in ARROWS or before == after:
            await database.rows(move, t=accepted.turn_id, to=after)
        else:
            with pytest.raises(DBAPIError, match=f"a turn does not go from {before} to {after}"):
                await database.rows(move, t=accepted.turn_id, to=after)


async def test_an_epoch_never_falls(person: Person, database: Database) -> None:
    running = await person.running()
    await superseded(running)
    with pytest.raises(DBAPIError, match="a turn's epoch never falls"):
        await database.rows("update turns set epoch = 1 where id = :t", t=running.turn_id)


async def test_a_thread_has_one_active_turn_even_for_the_owner_of_the_tables(
    person: Person, database: Database
) -> None:
    await person.running(thread_id := await person.thread())
    waiting = await person.say(thread_id, busy="queue")
    with pytest.raises(DBAPIError, match="turns_one_active"):
        await database.rows("update turns set status = 'queued' where id = :t", t=waiting.turn_id)
