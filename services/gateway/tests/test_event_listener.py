"""One open page: what it is told, when it is dropped, how its stream ends."""

from __future__ import annotations

import asyncio

from contracts.ids import uuid7
from gateway.events.limits import EventLimits
from gateway.events.listener import Listener
from gateway.events.notes import SYNC


class Page:
    """A socket; one that is `stuck` takes nothing until it is broken."""

    def __init__(self, *, stuck: bool = False) -> None:
        self.got: list[bytes] = []
        self.was_broken = asyncio.Event()
        self.writes = asyncio.Event()
        self._stuck = stuck

    async def send(self, data: bytes) -> None:
        self.writes.set()
        if self._stuck:
            await self.was_broken.wait()
        self.got.append(data)

    def send_now(self, data: bytes) -> bool:
        return False

    def unsent(self) -> int:
        return -1

    def abort(self) -> None:
        self.was_broken.set()


def listener(**limits: float) -> Listener:
    return Listener(uuid7(), EventLimits(**limits))  # type: ignore[arg-type]


async def test_it_begins_with_sync_and_ends_after_what_is_queued() -> None:
    page, told = Page(), listener()
    told.hear(b"one")
    told.end()
    await told.run(page)
    assert b"".join(page.got) == SYNC + b"one"
    assert not page.was_broken.is_set()


async def test_what_is_said_twice_in_a_row_is_said_once() -> None:
    page, told = Page(), listener()
    for message in (b"a", b"a", b"b", b"a"):
        told.hear(message)
    told.end()
    await told.run(page)
    assert b"".join(page.got) == SYNC + b"aba"


async def test_a_page_that_takes_nothing_is_dropped_when_its_queue_is_full() -> None:
    page, told = Page(stuck=True), listener(queue=3)
    running = asyncio.ensure_future(told.run(page))
    await page.writes.wait()
    for number in range(4):
        told.hear(b"%d" % number)
    assert page.was_broken.is_set()
    await running
    told.hear(b"late")
    assert page.got == [SYNC], "nothing after the break: it connects anew"


async def test_a_page_whose_socket_is_stuck_is_dropped() -> None:
    page, told = Page(stuck=True), listener(stuck=0.01)
    await told.run(page)
    assert page.was_broken.is_set()


async def test_silence_is_broken_by_comments_and_a_stream_has_its_time() -> None:
    page, told = Page(), listener(heartbeat=0.01, age=0.1)
    await told.run(page)
    assert page.got[0] == SYNC
    assert set(page.got[1:]) == {b": keep-alive\n\n"}
    assert not page.was_broken.is_set(), "it ends, it does not break"


async def test_a_client_that_has_gone_ends_it() -> None:
    page, told = Page(), listener()
    running = asyncio.ensure_future(told.run(page))
    await page.writes.wait()
    told.leave()
    await running
    assert page.got == [SYNC]
    assert not page.was_broken.is_set(), "it has gone by itself"
