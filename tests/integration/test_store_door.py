"""The one door: what it accepts, what it refuses, and that one wish never becomes two turns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from contracts.batches import START, BatchId
from contracts.turns import TurnCompleted, TurnRequested
from store.repositories import messages
from store.turns import KeyReused, Limits, MessageExists, QueueFull, ThreadBusy, ThreadMissing, stop_reason
from tests.kit.runner import chunks_of
from tests.kit.stack import Servers
from tests.kit.turns import ROOMY, Database, Person, Running, end_batch_of


@pytest.fixture
async def database(servers: Servers) -> AsyncIterator[Database]:
    async with Database.opened(servers) as opened:
        yield opened


@pytest.fixture
async def person(database: Database) -> Person:
    return await database.person()


# What an acceptance leaves behind


async def test_a_message_its_turn_and_the_wake_up_are_one_transaction(person: Person, database: Database) -> None:
    thread_id = await person.thread()
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    accepted = await person.say(thread_id, "What is new?", traceparent=traceparent, channel="api", model="a/b")
    assert accepted.is_new
    assert accepted.status == "queued"
    (wake_up,) = accepted.outbox
    event = TurnRequested.model_validate_json(wake_up.payload)
    assert (event.turn_id, event.user_id, event.id) == (accepted.turn_id, person.user_id, wake_up.id)
    assert wake_up.headers == {"traceparent": traceparent}
    assert await database.outbox(accepted.turn_id) == ["turn.requested.v1"]
    turn = await database.turn(accepted.turn_id)
    assert (turn.channel, turn.model, turn.epoch, turn.commit_number) == ("api", "a/b", 0, 0)
    messages = await database.rows("select * from messages where thread_id = :t order by ordinal", t=thread_id)
    assert [(m.role, m.id) for m in messages] == [("user", turn.question_id), ("assistant", accepted.message_id)]
    thread = await database.row("select * from threads where id = :t", t=thread_id)
    assert thread.title == "What is new?"
    assert thread.touched_at > thread.created_at


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("  two\n words ", "two words"),
        ("x" * 200, "x" * 60 + "…"),
        ("word, " * 30, "word, word, word, word, word, word, word, word, word, word…"),
        ("   ", "later"),
    ],
    ids=["spaces", "one long word", "many words", "nothing"],
)
async def test_the_first_words_name_the_thread(person: Person, database: Database, words: str, title: str) -> None:
    thread_id = await person.thread()
    await person.say(thread_id, words)
    await person.say(thread_id, "later", busy="queue")
    assert (await database.row("select title from threads where id = :t", t=thread_id)).title == title


async def test_no_thread_and_another_s_thread_look_alike(person: Person, database: Database) -> None:
    stranger = await database.person()
    for thread_id in (uuid4(), await stranger.thread()):
        with pytest.raises(ThreadMissing):
            await person.say(thread_id)
        with pytest.raises(ThreadMissing):
            await person.stop(thread_id)


async def test_an_archived_thread_comes_back_with_a_message(person: Person, database: Database) -> None:
    thread_id = await person.thread()
    await database.rows("update threads set archived_at = now() where id = :t", t=thread_id)
    await person.say(thread_id)
    assert (await database.row("select archived_at from threads where id = :t", t=thread_id)).archived_at is None


# Busy threads


@pytest.mark.parametrize("state", ["queued", "running"])
async def test_reject_refuses_a_busy_thread_and_stores_nothing(person: Person, database: Database, state: str) -> None:
    thread_id = await person.thread()
    first = await person.say(thread_id)
    if state == "running":
        await person.claim(first.turn_id)
    with pytest.raises(ThreadBusy):
        await person.say(thread_id, busy="reject")
    assert len(await database.rows("select id from messages where thread_id = :t", t=thread_id)) == 2
    assert (await database.turn(first.turn_id)).stop_requested_at is None


async def test_queue_waits_up_to_its_limit(person: Person) -> None:
    thread_id = await person.thread()
    limits = Limits(per_user=1000, total=1_000_000, waiting_per_thread=3)
    said = [await person.say(thread_id, busy="queue", limits=limits) for _ in range(4)]
    assert [accepted.status for accepted in said] == ["queued", "waiting", "waiting", "waiting"]
    assert all(accepted.stop is None for accepted in said)
    with pytest.raises(QueueFull) as full:
        await person.say(thread_id, busy="queue", limits=limits)
    assert full.value.limit == 3
    state = await person.state(said[3].turn_id)
    assert state is not None
    assert state.position == 3


async def test_replace_ends_a_queued_turn_at_once(person: Person, database: Database) -> None:
    thread_id = await person.thread()
    first = await person.say(thread_id)
    second = await person.say(thread_id)
    assert second.status == "queued"
    assert second.stop is None
    ended = await database.turn(first.turn_id)
    assert (ended.status, ended.ended_by, ended.epoch) == ("stopped", "replaced", 1)
    batch = end_batch_of(second.outbox)
    assert (batch.id, batch.cut) == (BatchId(1, 1), START)
    assert [chunk["type"] for chunk in chunks_of(batch.body)] == ["start", "message-metadata", "abort"]
    assert await database.outbox(first.turn_id) == [
        f"fact.{person.user_id}.turn.completed.v1",
        f"log.{first.turn_id}",
        "turn.requested.v1",
    ]
    assert await person.claim(first.turn_id) is None
    assert len(await database.rows("select id from messages where thread_id = :t", t=thread_id)) == 4


async def test_replace_asks_a_running_turn_to_stop_and_closes_what_waited_to_replace(
    person: Person, database: Database
) -> None:
    thread_id = await person.thread()
    running = await person.running(thread_id)
    kept = await person.say(thread_id, "queued", busy="queue")
    older = await person.say(thread_id, "older")
    newest = await person.say(thread_id, "newest")
    assert (older.stop, newest.stop) == (running.turn_id, running.turn_id)
    assert newest.status == "waiting"
    status = {id: (await database.turn(id)).status for id in (kept.turn_id, older.turn_id)}
    assert status == {kept.turn_id: "waiting", older.turn_id: "stopped"}
    assert (await running.row()).stop_requested_at is not None
    assert await why(running) == "replaced"
    await person.stop(thread_id)
    assert await why(running) == "replaced", "the first reason is the one that counts"
    async with database.door.session(person.user_id) as session:
        shown, _ = await messages.page(session, thread_id)
    told = next(m["metadata"]["retinue"] for m in shown if m["id"] == str(running.held.message_id))
    assert told == {"turn": str(running.turn_id), "status": "running"}, "it has not ended yet"
    await running.end()
    assert (await database.turn(kept.turn_id)).status == "queued", "the oldest is next"


async def why(running: Running) -> str:
    """Why a running turn shall stop."""
    async with running.transaction() as session:
        return await stop_reason(session, running.turn_id)


# Idempotency


async def test_the_same_key_and_body_are_the_same_turn(person: Person) -> None:
    thread_id = await person.thread()
    first = await person.say(thread_id, idempotency_key="k", request_hash=b"1")
    again = await person.say(thread_id, idempotency_key="k", request_hash=b"1")
    assert not again.is_new
    assert (again.turn_id, again.message_id, again.outbox) == (first.turn_id, first.message_id, [])
    await person.claim(first.turn_id)
    assert (await person.say(thread_id, idempotency_key="k", request_hash=b"1")).status == "running"


async def test_the_same_key_with_another_body_is_refused(person: Person, database: Database) -> None:
    thread_id = await person.thread()
    await person.say(thread_id, idempotency_key="k", request_hash=b"1")
    for elsewhere in (thread_id, await person.thread()):
        with pytest.raises(KeyReused):
            await person.say(elsewhere, idempotency_key="k", request_hash=b"2")
    assert len(await database.rows("select id from turns where user_id = :u", u=person.user_id)) == 1


async def test_keys_of_two_people_are_apart(person: Person, database: Database) -> None:
    other = await database.person()
    first = await person.say(await person.thread(), idempotency_key="k", request_hash=b"1")
    second = await other.say(await other.thread(), idempotency_key="k", request_hash=b"1")
    assert first.turn_id != second.turn_id


async def test_a_key_at_the_same_moment_in_one_thread_is_one_turn(person: Person) -> None:
    thread_id = await person.thread()
    said = await asyncio.gather(
        *(person.say(thread_id, idempotency_key="k", request_hash=b"1") for _ in range(8)),
    )
    assert len({accepted.turn_id for accepted in said}) == 1
    assert sum(accepted.is_new for accepted in said) == 1


async def test_a_key_at_the_same_moment_in_two_threads_stands_for_one_of_them(
    person: Person, database: Database
) -> None:
    threads = [await person.thread() for _ in range(6)]
    said = await asyncio.gather(
        *(person.say(id, idempotency_key="k", request_hash=str(id).encode()) for id in threads),
        return_exceptions=True,
    )
    refused = [each for each in said if isinstance(each, BaseException)]
    assert [type(each) for each in refused] == [KeyReused] * 5
    assert len(await database.rows("select id from turns where user_id = :u", u=person.user_id)) == 1
    assert len(await database.rows("select 1 from outbox where payload like :u", u=f"%{person.user_id}%".encode())) == 1


async def test_a_key_is_free_again_after_a_day(person: Person, database: Database) -> None:
    thread_id = await person.thread()
    first = await person.say(thread_id, idempotency_key="k", request_hash=b"1")
    ago = "update turns set accepted_at = accepted_at - interval '{}' where id = :t"
    await database.rows(ago.format("23 hours 59 minutes"), t=first.turn_id)
    assert not (await person.say(thread_id, idempotency_key="k", request_hash=b"1")).is_new
    await database.rows(ago.format("2 minutes"), t=first.turn_id)
    later = await person.say(thread_id, idempotency_key="k", request_hash=b"2")
    assert later.is_new
    assert (await database.turn(first.turn_id)).idempotency_key is None


async def test_a_client_s_message_id_is_taken_once_in_a_thread(person: Person, database: Database) -> None:
    thread_id = await person.thread()
    await person.say(thread_id, client_message_id="m1")
    with pytest.raises(MessageExists):
        await person.say(thread_id, client_message_id="m1")
    assert len(await database.rows("select id from turns where thread_id = :t", t=thread_id)) == 1
    assert (await person.say(await person.thread(), client_message_id="m1")).is_new


# Stop


async def test_a_stop_ends_what_no_runner_holds_and_lets_the_next_run(person: Person, database: Database) -> None:
    thread_id = await person.thread()
    first = await person.say(thread_id)
    second = await person.say(thread_id, busy="queue")
    stopped = await person.stop(thread_id)
    assert (stopped.turn_id, stopped.signal) == (first.turn_id, False)
    assert end_batch_of(stopped.outbox).id == BatchId(1, 1)
    assert [m.subject for m in stopped.outbox if m.subject == "turn.requested.v1"]
    assert (await database.turn(second.turn_id)).status == "queued"
    fact = next(m for m in stopped.outbox if m.subject.startswith("fact."))
    told = TurnCompleted.model_validate_json(fact.payload)
    assert (told.turn_id, told.status, told.ended_by) == (first.turn_id, "stopped", "user")


async def test_a_stop_of_a_running_turn_is_a_mark_and_a_signal(person: Person, database: Database) -> None:
    running = await person.running(thread_id := await person.thread())
    stopped = await person.stop(thread_id)
    assert (stopped.turn_id, stopped.signal, stopped.outbox) == (running.turn_id, True, [])
    asked = (await running.row()).stop_requested_at
    assert asked is not None
    assert await why(running) == "user"
    assert (await person.stop(thread_id)).signal
    assert (await running.row()).stop_requested_at == asked, "the first stop is the one that counts"


async def test_a_stop_with_a_turn_s_id_means_that_turn_alone(person: Person, database: Database) -> None:
    thread_id = await person.thread()
    running = await person.running(thread_id)
    waiting = await person.say(thread_id, busy="queue")
    assert (await person.stop(thread_id, uuid4())).turn_id is None
    assert (await person.stop(thread_id, waiting.turn_id)).turn_id == waiting.turn_id
    assert (await running.row()).stop_requested_at is None
    await running.end()
    assert (await person.stop(thread_id, running.turn_id)).turn_id is None, "a stale stop is ignored"
    assert (await running.row()).status == "finished"


async def test_a_stop_where_nothing_runs_is_nothing(person: Person) -> None:
    assert (await person.stop(await person.thread())).turn_id is None


async def test_a_stranger_s_stop_finds_nothing(person: Person, database: Database) -> None:
    running = await person.running(thread_id := await person.thread())
    stranger = await database.person()
    with pytest.raises(ThreadMissing):
        await stranger.stop(thread_id, running.turn_id)
    assert await stranger.state(running.turn_id) is None
    assert (await running.row()).stop_requested_at is None


async def test_the_limits_that_others_use_are_wide(database: Database) -> None:
    active = (await database.row("select active from retinue_capacity()")).active
    assert ROOMY.total - active > 1000
