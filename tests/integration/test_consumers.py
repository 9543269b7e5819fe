"""A consumer on the real NATS and Postgres: its effect happens once, and what it cannot do is kept and shown."""

import asyncio
import time

import pytest

from bus.publish import publish_stored
from contracts.ids import uuid7
from store.system import dead
from tests.kit.consumer import MOST_DELIVERIES, Reader, process_of
from tests.kit.consumer_town import DEADLINE, consumer_town_on


@pytest.fixture
async def town(quiet_servers):
    async with consumer_town_on(quiet_servers) as town:
        yield town


# Once


async def test_each_event_has_its_effect_once(town):
    events = [town.event() for _ in range(20)]
    async with town.working():
        await town.say(*events)
        await town.until_done(*events)
    assert sorted(await town.effects()) == sorted(event.id for event in events)
    assert await town.letters() == []


async def test_an_event_that_comes_twice_has_its_effect_once(town):
    event = town.event()
    async with town.working():
        await town.say(event)
        await town.until_done(event)
        # Another message with the same event: past the duplicate window, the stream keeps both.
        await publish_stored(town.bus, event.subject(), event.to_bytes(), uuid7())
        await town.until(town.nothing_left)
    assert await town.effects() == [event.id]
    assert town.reader.tries == {event.id: 1}


async def test_killed_between_the_effect_and_the_acknowledgement(town):
    event = town.event()
    await town.order(event, "die behind the commit")
    with process_of(town.servers, town.spec, town.user) as process:
        await town.say(event)
        assert await asyncio.to_thread(process.wait, DEADLINE) == -9
    assert await town.effects() == [event.id]
    assert await town.unanswered() == 1, "the acknowledgement was never sent"
    async with town.working():
        await town.until_done(event)
    assert await town.effects() == [event.id]
    assert town.reader.tries == {}
    assert await town.letters() == []


# Again, and parked


async def test_what_fails_is_tried_a_few_times_and_then_parked(town):
    event, other = town.event(), town.event()
    await town.order(event, "fail")
    async with town.working():
        await town.say(event, other)
        letter = await town.letter()
        await town.until_done(other)
    assert town.reader.tries == {event.id: MOST_DELIVERIES, other.id: 1}
    assert await town.effects() == [other.id], "a failed try leaves nothing behind"
    assert (letter.stream, letter.subject, letter.event_id) == ("FACT", event.subject(), event.id)
    assert (letter.payload, letter.deliveries, letter.state) == (event.to_bytes(), MOST_DELIVERIES, "parked")
    assert letter.headers["Nats-Msg-Id"] == str(event.id)
    assert (letter.reason_type, letter.reason[:17]) == ("RuntimeError", "broken on purpose")
    assert "hunter2" not in letter.reason
    assert letter.first_seen_at <= letter.parked_at <= letter.last_seen_at


async def test_what_is_refused_for_good_is_parked_at_once(town):
    event = town.event()
    await town.order(event, "refuse")
    async with town.working():
        await town.say(event)
        letter = await town.letter()
    assert (letter.deliveries, letter.reason_type, letter.reason) == (1, "Refused", "This will never do.")
    assert town.reader.tries == {event.id: 1}


async def test_who_asks_for_patience_gets_it(town):
    event = town.event()
    await town.order(event, "ask for patience")
    begun = time.monotonic()
    async with town.working():
        await town.say(event)
        await town.until_done(event)
    assert time.monotonic() - begun >= 1, "longer than our own back-off"
    assert town.reader.tries == {event.id: 2}


async def test_what_takes_longer_than_the_broker_waits_is_not_delivered_twice(town):
    event = town.event()
    await town.order(event, "take long")
    async with town.working(), Reader(town.store, town.spec).working(town.servers.nats_url()) as other:
        await town.say(event)
        await town.until_done(event)
        assert len(town.reader.tries) + len(other.tries) == 1
    assert await town.effects() == [event.id]


async def test_poison_that_does_not_parse_is_parked_at_once(town):
    id, subject = uuid7(), f"fact.{town.user}.turn.completed.v1"
    async with town.working():
        await publish_stored(town.bus, subject, b'{"id": "none", "secret": "hunter2hunter2"}', id)
        letter = await town.letter()
        await town.until(town.nothing_left)
    assert (letter.deliveries, letter.event_id, letter.reason_type) == (1, id, "ValidationError")
    assert "turn_id: Field required" in letter.reason
    assert "hunter2" not in letter.reason, "what a message says is in its payload, not in the reason"


async def test_poison_without_an_id_gets_one_from_its_place(town):
    async with town.working():
        for _ in range(2):
            await town.bus.jetstream().publish(f"fact.{town.user}.turn.completed.v1", b"\xff not json")
        await town.until(town.nothing_left)
        letters = await town.letters()
    assert len({letter.event_id for letter in letters}) == 2
    assert {letter.payload for letter in letters} == {b"\xff not json"}


async def test_an_event_that_kills_every_process_is_parked_by_the_next(town):
    event = town.event()
    await town.order(event, "die")
    await town.say(event)
    for _ in range(MOST_DELIVERIES):
        with process_of(town.servers, town.spec, town.user) as process:
            assert await asyncio.to_thread(process.wait, DEADLINE) == -9
    async with town.working():
        letter = await town.letter()
        await town.until(town.nothing_left)
    assert (letter.reason_type, letter.deliveries) == ("NeverAnswered", MOST_DELIVERIES + 1)
    assert town.reader.tries == {}, "nobody tries it once more"
    assert await town.effects() == []


async def test_done_at_the_last_delivery_and_killed_before_the_acknowledgement_is_done(town):
    event = town.event()
    await town.order(event, "die")
    await town.say(event)
    for tries in range(1, MOST_DELIVERIES + 1):
        if tries == MOST_DELIVERIES:
            await town.mend(event)
            await town.order(event, "die behind the commit")
        with process_of(town.servers, town.spec, town.user) as process:
            assert await asyncio.to_thread(process.wait, DEADLINE) == -9
    async with town.working():
        await town.until(town.nothing_left)
    assert await town.effects() == [event.id]
    assert await town.letters() == [], "nothing is left to do, so there is nothing to show"


async def test_two_processes_side_by_side(town):
    events = [town.event() for _ in range(24)]
    broken = events[::8]
    for event in broken:
        await town.order(event, "fail")
    with process_of(town.servers, town.spec, town.user), process_of(town.servers, town.spec, town.user):
        await town.say(*events)
        await town.until_done(*(event for event in events if event not in broken))
    effects = await town.run(
        "select event_id, process from consumer_test.effects where consumer = :c", c=town.spec.name
    )
    rows = effects.all()
    assert sorted(row.event_id for row in rows) == sorted(event.id for event in events if event not in broken)
    assert len({row.process for row in rows}) == 2, "both worked"
    letters = await town.letters()
    assert sorted(letter.event_id for letter in letters) == sorted(event.id for event in broken)


async def test_parked_by_two_at_once_is_one_row(town):
    event = town.event()
    await town.order(event, "fail")
    async with town.working():
        await town.say(event)
        letter = await town.letter()
    parked = dead.Parked(
        consumer=town.spec.name,
        stream="FACT",
        subject=letter.subject,
        event_id=event.id,
        payload=letter.payload,
        headers={},
        deliveries=9,
        first_seen_at=letter.first_seen_at,
        reason_type="RuntimeError",
        reason="late",
        was_sent_again=False,
    )

    async def park():
        async with town.store.system() as session:
            return await dead.park(session, parked)

    assert await asyncio.gather(*(park() for _ in range(4))) == [False] * 4
    (one,) = await town.letters()
    assert (one.id, one.deliveries, one.parked_at) == (letter.id, 9, letter.parked_at)
    await town.replay(letter)
    await park()
    (one,) = await town.letters()
    assert one.state == "replayed", "a late copy of the first message undoes no replay"


# Outages


async def test_a_database_that_is_away_uses_up_no_delivery(town):
    event = town.event()
    async with town.working():
        holding = asyncio.create_task(asyncio.to_thread(town.servers.hold, "postgres", 4))
        await town.until(town.is_away)
        await town.say(event)
        await town.until(town.waits)
        await holding
        await town.until_done(event)
    assert await town.effects() == [event.id]
    assert await town.letters() == []


async def test_poison_stays_on_the_bus_until_it_is_parked(town):
    async with town.working():
        holding = asyncio.create_task(asyncio.to_thread(town.servers.hold, "postgres", 4))
        await town.until(town.is_away)
        await publish_stored(town.bus, f"fact.{town.user}.turn.completed.v1", b"{}", uuid7())
        await town.until(town.waits)
        await holding
        letter = await town.letter()
        await town.until(town.nothing_left)
    assert letter.deliveries == 1
