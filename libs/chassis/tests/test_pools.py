"""Pools: bounded, named, refusing at once, never losing a slot."""

import asyncio
import contextvars
import threading

import pytest

from chassis.errors import Busy
from chassis.pools import Pool


@pytest.fixture
async def pool():
    pool = Pool("sample", size=2, queue_limit=1)
    yield pool
    await pool.close()


async def test_runs_on_a_named_thread_with_the_callers_context(pool):
    who = contextvars.ContextVar("who")
    who.set("caller")
    name, seen = await pool.run(lambda: (threading.current_thread().name, who.get()))
    assert name.startswith("pool-sample")
    assert seen == "caller"
    assert await pool.run(divmod, 7, 2) == (3, 1)


async def test_beyond_the_queue_limit_is_refused_at_once(pool):
    gate = threading.Event()
    held = [asyncio.create_task(pool.run(gate.wait)) for _ in range(3)]
    await asyncio.sleep(0)
    assert pool.queued == 1
    with pytest.raises(Busy, match="limit 1") as told:
        await pool.run(gate.wait)
    assert told.value.status == 503
    assert told.value.headers == {"Retry-After": "1"}
    assert told.value.body()["error"] == "busy"
    gate.set()
    assert await asyncio.gather(*held) == [True] * 3
    assert await pool.run(lambda: "free again") == "free again"


async def test_errors_come_back_and_free_the_slot(pool):
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 / 0)
    assert pool.queued == 0


async def test_a_cancelled_caller_leaves_the_slot_taken_until_the_thread_is_done(pool):
    gate, begun = threading.Event(), threading.Event()

    def work():
        begun.set()
        gate.wait()

    callers = [asyncio.create_task(pool.run(work)) for _ in range(3)]
    await asyncio.to_thread(begun.wait)
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    # The third never began, so cancelling it gave its place back; the two on threads keep theirs.
    extra = asyncio.create_task(pool.run(lambda: "ran"))
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await pool.run(lambda: None)
    gate.set()
    assert await extra == "ran"


async def test_close_waits_for_what_runs_and_says_what_does_not_end():
    pool = Pool("stuck", size=1, queue_limit=0)
    gate = threading.Event()
    held = asyncio.create_task(pool.run(gate.wait))
    await asyncio.sleep(0)
    with pytest.raises(TimeoutError, match="stuck still runs 1"):
        await pool.close(grace=0.05)
    gate.set()
    await held
