"""What is sent again to one consumer alone: replayed by an operator, or found missing by the daily look."""

import asyncio

import pytest

from bus.publish import publish_stored
from chassis.consumer_settings import ConsumerSettings
from contracts.ids import uuid7
from contracts.subjects import CONSUMERS
from contracts.turns import TurnCompleted, TurnStatus
from store.outbox import OutboxMessage, of_event
from store.system import dead
from tests.kit.consumer import MOST_DELIVERIES
from tests.kit.consumer_town import consumer_town_on


@pytest.fixture
async def town(quiet_servers):
    async with consumer_town_on(quiet_servers) as town:
        yield town


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
