"""A runner that leaves: nothing is claimed any more, and no database that is away keeps it from going."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from bus.publish import AckedPublisher
from contracts.batches import START
from store import StoreAway
from store.turns import Claim
from tests.kit.lossy_bus import LossyBus
from turn_runner.lease import Lease
from turn_runner.log import Logs, Pace
from turn_runner.slots import Slots


class Away:
    """A database that does not answer."""

    @asynccontextmanager
    async def system(self) -> Any:
        raise StoreAway("the database does not answer")
        yield

    session = system


@pytest.fixture
async def slots() -> Slots:
    bus, store = LossyBus(), Away()
    publisher = AckedPublisher(bus)  # type: ignore[arg-type]
    await publisher.start()
    lease = Lease(store, name="test", slots=2, every=1.5, lease=6.0, trust=4.0)  # type: ignore[arg-type]
    logs = Logs(bus, publisher, Pace(), most_unacknowledged=1024)  # type: ignore[arg-type]
    return Slots(SimpleNamespace(settings=SimpleNamespace(runner_slots=2), store=store, lease=lease, logs=logs))  # type: ignore[arg-type]


def claim() -> Claim:
    ids = [uuid4() for _ in range(7)]
    return Claim(*ids, epoch=1, commit=START, steps=0, channel="web", model=None, traceparent=None)


async def test_what_cannot_be_given_back_is_dropped_when_the_grace_is_over(slots: Slots) -> None:
    """Our lease ends with us; a sweep brings the turns back."""
    slots.take(claim())
    slots.take(claim())
    await asyncio.sleep(0)
    assert len(slots.held()) == 2
    begun = time.monotonic()
    await slots.drain(lambda: max(0.0, begun + 2.5 - time.monotonic()))
    assert slots.held() == set()
    assert 0.4 < time.monotonic() - begun < 2.5


async def test_a_second_signal_ends_the_patience(slots: Slots) -> None:
    slots.take(claim())
    left = [60.0]
    draining = asyncio.create_task(slots.drain(lambda: left[0]))
    await asyncio.sleep(0.05)
    assert not draining.done()
    left[0] = 0.0
    await asyncio.wait_for(draining, 3)
    assert slots.held() == set()


async def test_nobody_waits_for_a_free_slot_of_a_runner_that_leaves(slots: Slots) -> None:
    slots.take(claim())
    slots.take(claim())
    waiting = asyncio.create_task(slots.free())
    await asyncio.sleep(0)
    assert not waiting.done()
    slots.close()
    await asyncio.wait_for(waiting, 1)
    await slots.drain(lambda: 0.0)


async def test_a_runner_without_turns_leaves_at_once(slots: Slots) -> None:
    await asyncio.wait_for(slots.drain(lambda: 60.0), 1)
