"""A consumer on the real NATS and Postgres: its effect happens once, and what it cannot do is kept and shown."""

import asyncio
import secrets
import time
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import text

from bus.backlog import is_caught_up
from bus.connection import connect
from bus.publish import publish_stored
from bus.streams import ensure_streams
from chassis.consumer_settings import ConsumerSettings
from chassis.lost_facts import LostFacts
from chassis.relay import OutboxRelay
from contracts.ids import uuid7
from contracts.subjects import CONSUMERS
from contracts.turns import TurnCompleted, TurnStatus
from store import Store, StoreAway, outbox
from store.outbox import OutboxMessage, of_event
from store.system import dead
from tests.kit.consumer import MOST_DELIVERIES, Reader, make_tables, opened, process_of, spec_of
from tests.kit.stack import data_folder, start_servers

DEADLINE = 60


class Town:
    """One consumer of one user, and what a test says to it and sees of it."""

    def __init__(self, servers, store, bus):
        self.servers = servers
        self.store = store
        self.operator = Store(servers.role_url("gateway"), servers.role_url("gateway_system"), pool_size=1)
        self.bus = bus
        self.user = uuid7()
        self.spec = spec_of(f"test-{secrets.token_hex(4)}", self.user)
        self.consumers = (*CONSUMERS, self.spec)
        self.reader = Reader(store, self.spec)
        self.relay = OutboxRelay(store, partial(publish_stored, bus), sweep_every=0.1)

    def working(self):
        return self.reader.working(self.servers.nats_url())

    def event(self):
        return TurnCompleted(user_id=self.user, turn_id=uuid7(), thread_id=uuid7(), status=TurnStatus.FINISHED)

    async def say(self, *events):
        for event in events:
            await publish_stored(self.bus, event.subject(), event.to_bytes(), event.id)

    async def order(self, event, what):
        await self.run("insert into consumer_test.orders values (:id, :what)", id=event.id, what=what)

    async def mend(self, event):
        await self.run("delete from consumer_test.orders where event_id = :id", id=event.id)

    async def run(self, statement, **values):
        async with self.store.system() as session:
            return await session.execute(text(statement), values)

    async def effects(self):
        rows = await self.run("select event_id from consumer_test.effects where consumer = :c", c=self.spec.name)
        return [row.event_id for row in rows]

    async def letters(self):
        rows = await self.run("select * from dead_letters where consumer = :c order by parked_at", c=self.spec.name)
        return rows.all()

    async def letter(self):
        """The one there is; waits for it."""
        await self.until(self.letters)
        (found,) = await self.letters()
        return found

    async def replay(self, letter):
        async with self.operator.system() as session:
            return await dead.replay(session, letter.id, self.consumers)

    async def unanswered(self):
        info = await self.bus.jetstream().consumer_info(self.spec.stream, self.spec.name)
        return info.num_pending + info.num_ack_pending

    async def nothing_left(self):
        return await self.unanswered() == 0

    async def drop(self, letter):
        async with self.operator.system() as session:
            assert await dead.drop(session, letter.id)

    async def until(self, check):
        """Waits until `await check()` is true; a database that is away is not there yet."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            try:
                if await check():
                    return
            except StoreAway:
                pass
            await asyncio.sleep(0.05)
        seen = (len(await self.effects()), len(await self.letters()), await self.unanswered())
        raise AssertionError(f"{check.__name__}: not within {DEADLINE} s (effects, letters, unanswered: {seen})")

    async def is_away(self):
        try:
            await self.store.ping()
        except StoreAway:
            return True
        return False

    async def is_handled(self):
        (letter,) = await self.letters()
        return letter.state == "handled"

    async def waits(self):
        return await self.unanswered() == 1

    async def until_done(self, *events):
        wanted = {event.id for event in events}

        async def all_there():
            return wanted <= set(await self.effects()) and await self.nothing_left()

        await self.until(all_there)

    def looker(self, **settings):
        options = ConsumerSettings(**settings)
        return LostFacts(self.store, self.spec, options, lambda: is_caught_up(self.bus, self.spec))

    async def remember(self, message, **ago):
        """The outbox has this row as sent so long ago; whether the bus has it is another matter."""
        async with self.store.system() as session:
            await outbox.write(session, [message])
            values = {"id": message.id, "ago": timedelta(**ago)}
            moved = text("update outbox set sent_at = now() - cast(:ago as interval) where id = :id")
            await session.execute(moved, values)


@pytest.fixture(scope="module")
def servers():
    """Our own: we take them away, and no gateway shall sweep what is for us to sweep."""
    with data_folder() as data_dir:
        running = start_servers(data_dir)
        yield running
        running.stop()


@pytest.fixture
async def town(servers):
    await make_tables(servers)
    store = opened(servers)
    bus = await connect(servers.nats_url(), "consumer-test")
    town = Town(servers, store, bus)
    await ensure_streams(bus, consumers=town.consumers)
    relaying = asyncio.create_task(town.relay.run())
    yield town
    relaying.cancel()
    await asyncio.gather(relaying, return_exceptions=True)
    await bus.jetstream().delete_consumer("FACT", town.spec.name)
    await bus.close()
    await town.operator.dispose()
    await store.dispose()


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


# Replayed, dropped


async def test_a_replay_works_once_the_fault_is_mended(town):
    event = town.event()
    await town.order(event, "fail")
    bystander = await town.bus.subscribe(f"fact.{town.user}.>")
    async with town.working():
        await town.say(event)
        letter = await town.letter()
        await town.mend(event)
        message = await town.replay(letter)
        await town.until_done(event)
        await town.until(town.is_handled)
    assert message.id != event.id
    assert message.payload == event.to_bytes()
    assert await town.effects() == [event.id]
    assert (await town.letters())[0].handled_at is not None
    assert bystander.pending_msgs == 1, "others hear a fact once"
    with pytest.raises(dead.NotReplayable, match="handled"):
        await town.replay(letter)


async def test_a_replay_of_what_is_still_broken_is_parked_again_in_the_same_row(town):
    event = town.event()
    await town.order(event, "fail")
    async with town.working():
        await town.say(event)
        letter = await town.letter()
        await town.replay(letter)

        async def parked_again():
            (one,) = await town.letters()
            return one.state == "parked" and one.replayed_at is not None

        await town.until(parked_again)
    (one,) = await town.letters()
    assert (one.id, one.deliveries) == (letter.id, 2 * MOST_DELIVERIES)
    assert one.subject == event.subject()
    assert one.parked_at > letter.parked_at


async def test_a_replay_of_what_was_done_after_all_changes_nothing(town):
    event = town.event()
    await town.order(event, "fail")
    async with town.working():
        await town.say(event)
        letter = await town.letter()
        await town.mend(event)
        await publish_stored(town.bus, event.subject(), event.to_bytes(), uuid7())
        await town.until_done(event)
        await town.replay(letter)
        await town.until(town.is_handled)
    assert await town.effects() == [event.id]


async def test_what_was_dropped_never_comes_back(town):
    event = town.event()
    await town.remember(of_event(event), hours=2)
    await town.order(event, "fail")
    async with town.working():
        await town.say(event)
        letter = await town.letter()
        await town.mend(event)
        await town.drop(letter)
        assert await town.looker().look() == 0
        await publish_stored(town.bus, event.subject(), event.to_bytes(), uuid7())
        await town.until(town.nothing_left)
    assert await town.effects() == []
    assert await town.letters() == []


async def test_nobody_is_replayed_to_who_is_not_there_any_more(town):
    async with town.working():
        await publish_stored(town.bus, f"fact.{town.user}.turn.completed.v1", b"{}", uuid7())
        letter = await town.letter()
    town.consumers = CONSUMERS
    with pytest.raises(dead.NotReplayable, match="no consumer"):
        await town.replay(letter)


# Lost facts


async def test_a_fact_that_the_bus_lost_is_sent_again_once(town):
    lost, young, done, parked = (town.event() for _ in range(4))
    await town.order(parked, "fail")
    async with town.working():
        await town.say(done, parked)
        await town.until_done(done)
        await town.letter()
        for event in (lost, done, parked):
            await town.remember(of_event(event), hours=2)
        await town.remember(of_event(young), minutes=10)
        looked = await asyncio.gather(*(town.looker().look() for _ in range(3)))
        assert sum(looked) == 1
        await town.until_done(lost)
        assert await town.looker().look() == 0
    assert sorted(await town.effects()) == sorted([done.id, lost.id])


async def test_what_still_waits_on_the_bus_is_not_lost(town):
    event = town.event()
    await town.remember(of_event(event), hours=2)
    await town.say(event)
    assert await town.looker().look() is None
    async with town.working():
        await town.until_done(event)
        assert await town.looker().look() == 0
    assert await town.effects() == [event.id]


async def test_the_look_comes_again_and_again(town):
    early, late = town.event(), town.event()
    await town.remember(of_event(early), hours=2)
    looking = asyncio.create_task(town.looker(lost_facts_every=0.2).keep_looking())
    try:
        async with town.working():
            await town.until_done(early)
            await town.remember(of_event(late), hours=2)
            await town.until_done(late)
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    assert sorted(await town.effects()) == sorted([early.id, late.id])


async def test_facts_of_others_are_none_of_its_business(town):
    strangers = TurnCompleted(user_id=uuid7(), turn_id=uuid7(), thread_id=uuid7(), status=TurnStatus.FINISHED)
    await town.remember(of_event(strangers), hours=2)
    await town.remember(OutboxMessage(f"log.{uuid7()}", b"x"), hours=2)
    assert await town.looker().look() == 0


async def test_inbox_rows_go_when_nothing_brings_their_events_back(town):
    events = [town.event() for _ in range(3)]
    async with town.working():
        await town.say(*events)
        await town.until_done(*events)
    old, with_letter, new = events
    await town.run(
        "update inbox set done_at = now() - interval '15 days' where event_id = any(:ids)",
        ids=[old.id, with_letter.id],
    )
    await town.run(
        "insert into dead_letters (id, consumer, stream, subject, event_id, payload, deliveries, first_seen_at,"
        " reason_type, reason) values (:id, :c, 'FACT', 's', :id, '', 1, now(), 'X', '')",
        id=with_letter.id,
        c=town.spec.name,
    )
    assert await town.looker().look() == 0
    left = await town.run("select event_id from inbox where consumer = :c", c=town.spec.name)
    assert {row.event_id for row in left} == {with_letter.id, new.id}


def test_settings_that_would_forget_too_early_are_refused():
    for wrong in ({"inbox_keep": 86400.0}, {"facts_keep": 86400.0}, {"inbox_keep": 7 * 86400.0}):
        with pytest.raises(ValueError, match="RETINUE_"):
            ConsumerSettings(**wrong)
