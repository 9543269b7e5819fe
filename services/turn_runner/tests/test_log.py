"""The writer of the chunk log on a bus that loses, refuses and delays; the well-behaved one is in tests/integration."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

import pytest
from nats.errors import OutboundBufferLimitError

from bus.publish import AckedPublisher
from contracts import chunks
from contracts.batches import START, BatchId
from contracts.reducer import Reducer
from contracts.subjects import MAX_PAYLOAD, log_subject
from tests.kit.lossy_bus import REFUSED, LossyBus
from turn_runner.log import BatchTooLarge, Logs, Pace, TurnLog

TURN, MESSAGE = uuid4(), uuid4()


class Steady(Pace):
    """Always the same window."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def window(self, previous: float, gap: float) -> float:
        return self._seconds


@pytest.fixture
def bus() -> LossyBus:
    return LossyBus()


async def logs_on(bus: LossyBus, *, pace: Pace | None = None, most: int = 1024 * 1024) -> Logs:
    publisher = AckedPublisher(bus)  # type: ignore[arg-type]
    await publisher.start()
    return Logs(bus, publisher, pace or Steady(0), most_unacknowledged=most)  # type: ignore[arg-type]


def opened(logs: Logs, *, epoch: int = 1, cut: BatchId = START) -> TurnLog:
    return logs.open(TURN, MESSAGE, epoch, cut)


def start() -> list[dict[str, Any]]:
    return [chunks.start(str(MESSAGE))]


def said(*texts: str, part: str = "1") -> list[dict[str, Any]]:
    return [chunks.text_delta(part, text) for text in texts]


def chunks_in(bus: LossyBus) -> list[dict[str, Any]]:
    lines = [line for batch in bus.batches for line in batch.body.splitlines()]
    return [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]


async def paused() -> None:
    """Lets everything run that can run now."""
    for _ in range(5):
        await asyncio.sleep(0)


# Numbers, cut, ids


async def test_batches_count_on_from_the_cut_and_carry_it(bus: LossyBus) -> None:
    log = opened(await logs_on(bus), epoch=3, cut=BatchId(2, 17))
    await log.write_batch(said_in_a_part("a"))
    await log.write(said("b"))
    assert [(batch.id, batch.cut) for batch in bus.batches] == [
        (BatchId(3, 18), BatchId(2, 17)),
        (BatchId(3, 19), BatchId(2, 17)),
    ]
    assert {sent.subject for sent in bus.sent} == {log_subject(TURN)}
    assert log.position == BatchId(3, 19)


def said_in_a_part(text: str) -> list[dict[str, Any]]:
    return [chunks.start_step(), chunks.text_start("1"), *said(text)]


async def test_the_id_is_on_the_last_event_only(bus: LossyBus) -> None:
    log = opened(await logs_on(bus))
    await log.write_batch(said_in_a_part("a"))
    assert bus.sent[0].batch.body.count(b"id: ") == 1
    assert bus.sent[0].batch.body.splitlines()[-3] == b"id: 1.1"


async def test_a_batch_of_its_own_is_one_whatever_waits(bus: LossyBus) -> None:
    log = opened(await logs_on(bus, pace=Steady(60)))
    await log.write(start())  # at once, after a pause
    await log.write(said_in_a_part("a"))  # waits for its window
    await log.write_batch([chunks.text_end("1")])
    assert [batch.body.count(b"data: ") for batch in bus.batches] == [1, 3, 1]


# Gathering


async def test_the_first_chunk_after_a_pause_goes_at_once_and_the_next_ones_gather(bus: LossyBus) -> None:
    log = opened(await logs_on(bus, pace=Steady(0.05)))
    await log.write(said_in_a_part("a"))
    assert len(bus.sent) == 1
    for text in "bcd":
        await log.write(said(text))
    assert len(bus.sent) == 1
    await bus.until_sent(2)
    assert chunks_in(bus)[-1] == chunks.text_delta("1", "bcd")


async def test_only_neighbouring_deltas_of_one_part_become_one(bus: LossyBus) -> None:
    log = opened(await logs_on(bus))
    told = [
        *start(),
        chunks.start_step(),
        chunks.reasoning_start("r"),
        chunks.text_start("t"),
        *said("a", "b", part="t"),
        chunks.reasoning_delta("r", "x"),
        chunks.reasoning_delta("r", "y"),
        *said("c", part="t"),
        chunks.tool_input_start("call", "calculator", ours=True),
        chunks.tool_input_delta("call", "{"),
        chunks.tool_input_delta("call", "}"),
    ]
    await log.write_batch(told)
    deltas = [chunk for chunk in chunks_in(bus) if chunk["type"].endswith("-delta")]
    assert [chunk.get("delta", chunk.get("inputTextDelta")) for chunk in deltas] == ["ab", "xy", "c", "{", "}"]
    whole = Reducer(str(MESSAGE))
    for chunk in told:
        whole.apply(chunk)
    assert log.reducer.parts == whole.parts


async def test_nothing_to_say_makes_no_batch(bus: LossyBus) -> None:
    log = opened(await logs_on(bus))
    await log.write([])
    assert await log.settle() == START._replace(epoch=1)
    assert bus.sent == []


def test_the_window_is_nothing_after_a_pause_and_grows_to_40_ms_while_chunks_come_quickly() -> None:
    pace = Pace()
    assert pace.window(0.0, gap=1.0) == 0.0
    window, seen = 0.0, []
    for _ in range(12):
        window = pace.window(window, gap=0.005)
        seen.append(window)
    assert seen[0] == 0.01
    assert seen == sorted(seen)
    assert seen[-1] == Pace.QUICK
    assert pace.window(window, gap=0.1) == 0.0


def test_a_late_event_loop_widens_the_window_to_100_ms_and_no_more() -> None:
    pace = Pace()
    pace.lag = 0.009
    assert pace.window(0.0, gap=1.0) == 0.0
    pace.lag = 0.02
    assert pace.window(0.0, gap=1.0) == pytest.approx(0.08)
    pace.lag = 5.0
    assert pace.window(0.04, gap=0.001) == Pace.LONGEST


def test_a_runner_that_may_not_gather_sends_each_chunk_at_once_however_late_it_is() -> None:
    pace = Pace(longest=0)
    pace.lag = 5.0
    assert pace.window(0.04, gap=0.001) == 0.0


# Acknowledgements


async def test_settle_waits_for_every_batch_and_names_the_last(bus: LossyBus) -> None:
    log = opened(await logs_on(bus))
    await log.write_batch(start())
    await log.write(said_in_a_part("a"))
    settling = asyncio.create_task(log.settle())
    await paused()
    first, second = bus.sent
    await bus.acknowledge(second)
    await paused()
    assert not settling.done(), "an acknowledgement speaks for its own batch"
    await bus.acknowledge(first)
    assert await asyncio.wait_for(settling, 1) == BatchId(1, 2)


async def test_settle_ends_the_batch_that_is_gathering(bus: LossyBus) -> None:
    bus.acks = "at once"
    log = opened(await logs_on(bus, pace=Steady(60)))
    await log.write(said_in_a_part("a"))
    await log.write(said("b"))
    assert await asyncio.wait_for(log.settle(), 1) == BatchId(1, 2)


async def test_a_batch_without_an_acknowledgement_is_published_again_under_its_number(bus: LossyBus) -> None:
    logs = await logs_on(bus)
    log = opened(logs)
    await log.write(said_in_a_part("a"))
    await logs.publish_again()
    first, again = bus.sent
    assert again.payload == first.payload
    assert again.reply != first.reply
    settling = asyncio.create_task(log.settle())
    await paused()
    await bus.acknowledge(again)
    assert await asyncio.wait_for(settling, 1) == BatchId(1, 1)
    await bus.acknowledge(first)  # a late word on the first try changes nothing
    await logs.publish_again()
    assert len(bus.sent) == 2


async def test_only_what_is_old_enough_is_published_again(bus: LossyBus) -> None:
    logs = await logs_on(bus)
    log = opened(logs)
    await log.write(said_in_a_part("a"))
    await logs.publish_again(older_than=60)
    assert len(bus.sent) == 1


async def test_a_refused_batch_is_kept_and_published_again(bus: LossyBus) -> None:
    logs = await logs_on(bus)
    log = opened(logs)
    await log.write(said_in_a_part("a"))
    await bus.acknowledge(bus.sent[0], data=REFUSED)
    settling = asyncio.create_task(log.settle())
    await paused()
    assert not settling.done()
    bus.acks = "at once"
    await logs.publish_again()
    await asyncio.wait_for(settling, 1)


async def test_a_broker_that_is_away_delays_and_after_it_everything_comes_in_order(bus: LossyBus) -> None:
    logs = await logs_on(bus)
    log = opened(logs)
    await log.write(start())
    bus.is_connected = False
    await log.write(said_in_a_part("a"))
    await log.write(said("b"))
    assert len(bus.sent) == 1
    bus.is_connected, bus.acks = True, "at once"
    await logs.publish_again()
    assert [batch.id.number for batch in bus.batches] == [1, 1, 2, 3]
    assert await asyncio.wait_for(log.settle(), 1) == BatchId(1, 3)


async def test_a_full_buffer_of_the_client_delays_and_never_raises(bus: LossyBus) -> None:
    logs = await logs_on(bus)
    log = opened(logs)
    bus.fails = OutboundBufferLimitError()
    await log.write(said_in_a_part("a"))
    bus.fails, bus.acks = None, "at once"
    await logs.publish_again()
    assert await asyncio.wait_for(log.settle(), 1) == BatchId(1, 1)


async def test_lost_acknowledgements_are_looked_for_without_anybody_asking(bus: LossyBus) -> None:
    logs = await logs_on(bus)
    log = opened(logs)
    await log.write(said_in_a_part("a"))
    bus.acks = "at once"
    looking = asyncio.create_task(logs.keep_publishing())
    try:
        assert await asyncio.wait_for(log.settle(), 5) == BatchId(1, 1)
    finally:
        looking.cancel()


async def test_too_much_unacknowledged_holds_the_model_until_the_log_catches_up(bus: LossyBus) -> None:
    logs = await logs_on(bus, most=1000)
    log = opened(logs)
    await log.write([*said_in_a_part("x" * 500)])
    writing = asyncio.create_task(log.write(said("y" * 500)))
    await paused()
    assert not writing.done()
    assert len(bus.sent) == 2
    await bus.acknowledge(bus.sent[0])
    await asyncio.wait_for(writing, 1)
    await asyncio.wait_for(log.write([]), 1)


# What does not count


async def test_after_a_cut_numbers_go_on_behind_it_in_the_new_epoch(bus: LossyBus) -> None:
    bus.acks = "at once"
    logs = await logs_on(bus, pace=Steady(60))
    log = opened(logs)
    await log.write_batch(start())
    await log.write_batch([chunks.start_step(), chunks.text_start("1"), *said("kept"), chunks.text_end("1")])
    cut = await log.settle()
    stored = len(log.reducer)
    bus.acks = "withheld"
    await log.write_batch([chunks.finish_step(), chunks.start_step(), chunks.text_start("2"), *said("gone", part="2")])
    await log.write(said("pending", part="2"))
    dead = bus.sent[-1]
    log.supersede(2, cut, stored)
    assert [part["type"] for part in log.reducer.parts] == ["step-start", "text"]
    await log.write_batch([chunks.finish_step(), chunks.start_step(), chunks.text_start("3"), *said("new", part="3")])
    assert bus.batches[-1].id == BatchId(2, cut.number + 1)
    assert bus.batches[-1].cut == cut
    assert b"pending" not in b"".join(batch.body for batch in bus.batches)
    settling = asyncio.create_task(log.settle())
    await paused()
    await bus.acknowledge(dead)  # same number, an epoch that no longer counts
    await paused()
    assert not settling.done()
    before = len(bus.sent)
    await logs.publish_again()
    assert [batch.id.epoch for batch in bus.batches[before:]] == [2]
    await bus.acknowledge(bus.sent[-1])
    assert await asyncio.wait_for(settling, 1) == BatchId(2, cut.number + 1)
    assert [part.get("text") for part in log.reducer.parts if part["type"] == "text"] == ["kept", "new"]


async def test_a_cut_frees_whoever_waits_for_what_no_longer_counts(bus: LossyBus) -> None:
    log = opened(await logs_on(bus, most=10))
    writing = asyncio.create_task(log.write(said_in_a_part("a")))
    await paused()
    assert not writing.done()
    log.supersede(2, START, 0)
    await asyncio.wait_for(writing, 1)


async def test_a_closed_log_says_nothing_more(bus: LossyBus) -> None:
    logs = await logs_on(bus, pace=Steady(0.01))
    log = opened(logs)
    await log.write(said_in_a_part("a"))
    await log.write(said("b"))
    log.close()
    await logs.publish_again()
    await asyncio.sleep(0.03)  # the window of the chunk that was waiting
    assert len(bus.sent) == 1


# What is too large


async def test_a_batch_near_the_broker_s_limit_is_refused_where_it_is_made(bus: LossyBus) -> None:
    log = opened(await logs_on(bus))
    await log.write_batch(start())
    with pytest.raises(BatchTooLarge, match="bytes, of at most 8,323,072"):
        await log.write(said_in_a_part("x" * MAX_PAYLOAD))
    assert len(bus.sent) == 1
    assert log.position == BatchId(1, 1)
    assert len(log.reducer) == 0, "nothing of it was told, so nothing of it is in the message"


async def test_a_batch_that_was_too_large_when_its_window_ended_is_raised_inside_the_turn(bus: LossyBus) -> None:
    log = opened(await logs_on(bus, pace=Steady(0.3)))
    whole = "x" * MAX_PAYLOAD
    await log.write(said_in_a_part("a"))

    async def keep_writing() -> None:
        while True:
            await log.write(said(whole))
            await asyncio.sleep(0.02)

    with pytest.raises(BatchTooLarge):
        await asyncio.wait_for(keep_writing(), 5)
    with pytest.raises(BatchTooLarge):
        await log.write(said("what follows a gap"))
    log.supersede(2, START, 0)
    await log.write(said_in_a_part("a cut begins anew"))
    assert bus.batches[-1].id == BatchId(2, 1)


async def test_no_commit_passes_over_a_batch_that_has_just_failed_by_itself(bus: LossyBus) -> None:
    """Between the failure of the window's own task and the word of it."""
    bus.acks = "at once"
    log = opened(await logs_on(bus, pace=Steady(0)))
    await log.write_batch(start())
    log._pending += said_in_a_part("x" * MAX_PAYLOAD)  # pyright: ignore[reportPrivateUsage]
    log._flush_later()  # pyright: ignore[reportPrivateUsage]
    await asyncio.sleep(0)  # it has run, and its callback has not
    with pytest.raises(BatchTooLarge):
        await log.settle()
    assert log.has_failed
    log.supersede(2, START, 0)
    assert not log.has_failed


async def test_a_batch_just_below_the_limit_passes(bus: LossyBus) -> None:
    bus.acks = "at once"
    log = opened(await logs_on(bus))
    await log.write(said_in_a_part("x" * (MAX_PAYLOAD - 70_000)))
    assert await log.settle() == BatchId(1, 1)


async def test_what_gathers_faster_than_a_batch_can_carry_becomes_several_in_order(bus: LossyBus) -> None:
    bus.acks = "at once"
    log = opened(await logs_on(bus, pace=Steady(3600), most=10**9))
    await log.write([*start(), chunks.text_start("1")])
    texts = [f"{number}:" + "x" * 1_000_000 for number in range(20)]
    for text in texts:
        await log.write(said(text))
    last = await log.settle()
    assert last == bus.batches[-1].id
    assert [batch.id.number for batch in bus.batches] == list(range(1, last.number + 1))
    assert all(len(batch.body) < MAX_PAYLOAD for batch in bus.batches)
    assert 3 <= len(bus.batches) <= 8
    assert "".join(chunk["delta"] for chunk in chunks_in(bus) if chunk["type"] == "text-delta") == "".join(texts)
    assert log.reducer.parts[0]["text"] == "".join(texts)
