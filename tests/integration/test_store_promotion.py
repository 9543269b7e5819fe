"""Which waiting turns may run: limits of a user and of the deployment, whose turn is next, whose thread is busy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from sqlalchemy import text

from contracts.turns import TurnRequested
from store.system import sweep
from store.turns import Accepted, Limits, QueueFull
from tests.kit.stack import Servers
from tests.kit.turns import Database, Person

TWO = Limits(per_user=2, total=1_000_000)


@pytest.fixture
async def database(servers: Servers) -> AsyncIterator[Database]:
    async with Database.opened(servers) as opened:
        yield opened


@pytest.fixture
async def person(database: Database) -> Person:
    return await database.person()


async def status(database: Database, *turns: Accepted) -> list[str]:
    return [(await database.turn(accepted.turn_id)).status for accepted in turns]


def woken(messages: list) -> list[UUID]:
    return [TurnRequested.model_validate_json(m.payload).turn_id for m in messages if m.subject == "turn.requested.v1"]


async def test_a_user_s_limit_makes_the_rest_wait_in_line(person: Person) -> None:
    said = [await person.say(await person.thread(), limits=TWO) for _ in range(5)]
    assert [accepted.status for accepted in said] == ["queued", "queued", "waiting", "waiting", "waiting"]
    positions = [state.position for accepted in said if (state := await person.state(accepted.turn_id)) is not None]
    assert positions == [None, None, 1, 2, 3]


async def test_an_end_lets_the_user_s_oldest_run(person: Person, database: Database) -> None:
    running = [await person.running(limits=TWO) for _ in range(2)]
    third, fourth = [await person.say(await person.thread(), limits=TWO) for _ in range(2)]
    messages = await running[0].end(running[0].ending(limits=TWO))
    assert woken(messages) == [third.turn_id]
    assert await status(database, third, fourth) == ["queued", "waiting"]


async def test_a_thread_s_own_next_turn_comes_before_older_ones_elsewhere(person: Person, database: Database) -> None:
    one = Limits(per_user=1, total=1_000_000)
    running = await person.running(thread_id := await person.thread(), limits=one)
    elsewhere = await person.say(await person.thread(), limits=one)
    own = await person.say(thread_id, busy="queue", limits=one)
    assert woken(await running.end(running.ending(limits=one))) == [own.turn_id]
    assert await status(database, elsewhere) == ["waiting"]


async def test_a_thread_runs_one_turn_whatever_the_limits(person: Person, database: Database) -> None:
    thread_id = await person.thread()
    said = [await person.say(thread_id, busy="queue") for _ in range(3)]
    assert await status(database, *said) == ["queued", "waiting", "waiting"]


async def test_nobody_s_hundred_turns_hold_back_another_s_first(person: Person, database: Database) -> None:
    for _ in range(20):
        await person.say(await person.thread(), limits=TWO)
    other = await database.person()
    assert (await other.say(await other.thread(), limits=TWO)).status == "queued"


async def test_a_full_deployment_makes_everybody_wait_until_there_is_room(person: Person, database: Database) -> None:
    active = (await database.row("select active from retinue_capacity()")).active
    full = Limits(per_user=100, total=active + 1)
    first = await person.running(limits=full)
    other = await database.person()
    waiting = await other.say(await other.thread(), limits=full)
    assert waiting.status == "waiting"
    assert woken(await first.end(first.ending(limits=full))) == [], "an end promotes its own user's turns"
    async with database.runner.system() as session:
        assert other.user_id in await sweep.waiting_users(session, full)
        assert woken((await sweep.promote_user(session, other.user_id, full)).outbox) == [waiting.turn_id]


async def test_the_last_place_is_left_to_somebody_who_has_none(person: Person, database: Database) -> None:
    """Else a user with a long line would hand each place to their own next turn, for ever."""
    active = (await database.row("select active from retinue_capacity()")).active
    full = Limits(per_user=100, total=active + 3)
    running = [await person.running(limits=full) for _ in range(2)]
    greedy = [await person.say(await person.thread(), limits=full) for _ in range(5)]
    assert {accepted.status for accepted in greedy} == {"waiting"}
    assert woken(await running[0].end(running[0].ending(limits=full))) == [greedy[0].turn_id]
    other = await database.person()
    first, second = [await other.say(await other.thread(), limits=full) for _ in range(2)]
    assert (first.status, second.status) == ("queued", "waiting")
    assert woken(await running[1].end(running[1].ending(limits=full))) == [], "the one place is the sweep's to give"


async def test_the_sweep_gives_a_place_to_whoever_has_fewest(person: Person, database: Database) -> None:
    many, few, none = person, await database.person(), await database.person()
    for someone, turns in ((many, 3), (few, 1)):
        for _ in range(turns):
            await someone.running()
    active = (await database.row("select active from retinue_capacity()")).active
    closed = Limits(per_user=100, total=active)
    waiting = {p.user_id: [await p.say(await p.thread(), limits=closed) for _ in range(2)] for p in (many, few, none)}
    async with database.runner.system() as session:
        assert await sweep.waiting_users(session, closed) == [], "there is no place"
        ours = Limits(per_user=3, total=active + 1000)
        found = [user for user in await sweep.waiting_users(session, ours) if user in waiting]
        assert found == [none.user_id, few.user_id], "who has most waits, as its own limit says"
        assert len(await sweep.waiting_users(session, Limits(per_user=3, total=active + 1))) == 1
        swept = await sweep.promote_user(session, none.user_id, ours)
    assert woken(swept.outbox) == [waiting[none.user_id][0].turn_id], "one at a time"


async def test_as_many_may_wait_for_a_user_as_the_limit_says(person: Person, database: Database) -> None:
    three = Limits(per_user=1, total=1_000_000, waiting_per_user=3)
    said = [await person.say(await person.thread(), limits=three) for _ in range(4)]
    assert [accepted.status for accepted in said] == ["queued", "waiting", "waiting", "waiting"]
    thread_id = await person.thread()
    with pytest.raises(QueueFull) as full:
        await person.say(thread_id, limits=three)
    assert (full.value.scope, full.value.count, full.value.limit) == ("user", 3, 3)
    assert await database.rows("select id from messages where thread_id = :t", t=thread_id) == []
    assert (await (other := await database.person()).say(await other.thread(), limits=three)).status == "queued"


async def test_who_may_run_at_once_needs_no_place_in_a_full_line(person: Person) -> None:
    line = Limits(per_user=2, total=1_000_000, waiting_per_user=1)
    thread_id = await person.thread()
    await person.say(thread_id, busy="queue", limits=line)
    assert (await person.say(thread_id, busy="queue", limits=line)).status == "waiting"
    assert (await person.say(await person.thread(), limits=line)).status == "queued"


async def test_the_deployment_s_room_is_the_slots_of_the_runners_that_live(person: Person, database: Database) -> None:
    counted = Limits(per_user=100, total=0)
    await database.rows("delete from runners")  # who lives says so again, with its next heartbeat
    await database.alive(lease=-1, slots=10_000)
    active = (await database.row("select active from retinue_capacity()")).active
    runner = await database.alive(slots=active + 1)
    try:
        said = [await person.say(await person.thread(), limits=counted) for _ in range(2)]
        assert [accepted.status for accepted in said] == ["queued", "waiting"]
    finally:
        await database.gone(runner)


async def test_a_thread_that_another_has_locked_is_left_to_the_sweep(person: Person, database: Database) -> None:
    running = [await person.running(limits=TWO) for _ in range(2)]
    busy, free = await person.thread(), await person.thread()
    locked = await person.say(busy, limits=TWO)
    other = await person.say(free, limits=TWO)
    async with database.owner.begin() as connection:
        await connection.execute(text("select id from threads where id = :t for no key update"), {"t": busy})
        assert woken(await running[0].end(running[0].ending(limits=TWO))) == [other.turn_id]
        assert woken(await running[1].end(running[1].ending(limits=TWO))) == []
    assert await status(database, locked, other) == ["waiting", "queued"]
    async with database.runner.system() as session:
        await sweep.promote_user(session, person.user_id, TWO)
    assert await status(database, locked) == ["queued"]


async def test_children_do_not_count_against_their_user(person: Person, database: Database) -> None:
    parent = await person.running(limits=TWO)
    child = await person.running(limits=TWO)
    await database.rows("update turns set parent_turn_id = :p where id = :c", p=parent.turn_id, c=child.turn_id)
    assert (await person.say(await person.thread(), limits=TWO)).status == "queued"
    assert (await person.say(await person.thread(), limits=TWO)).status == "waiting"
