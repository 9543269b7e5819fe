"""Pages are read in processes of their own: what is made to hurt hurts one of those, and only for a while."""

from __future__ import annotations

import asyncio
import time

import psutil
import pytest

from tests.kit.waiting import awaited
from turn_runner.pages.reader import PageReader, Unreadable


def reading(reader: PageReader, html: str | bytes, selector: str | None = None):
    body = html.encode() if isinstance(html, str) else html
    return reader.read(body, url="https://example.org/", charset=None, selector=selector, most=24_000)


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "turn_runner.pages.child" in " ".join(child.cmdline())]


async def begun() -> bool:
    return bool(children())


async def test_a_page_comes_back_as_text() -> None:
    page = await reading(PageReader(), "<title>T</title><p>Grüße, 🦊 &amp; <a href=/x>x</a>")
    assert (page.title, page.text) == ("T", "Grüße, 🦊 & x (https://example.org/x)")


async def test_a_page_that_would_take_a_minute_is_given_up_and_its_process_ends() -> None:
    since = time.monotonic()
    with pytest.raises(Unreadable):
        await reading(PageReader(seconds=0.7), "<div>" * 400_000)
    assert time.monotonic() - since < 5
    assert not children()


async def test_whoever_is_cancelled_leaves_no_process_behind() -> None:
    task = asyncio.create_task(reading(PageReader(), "<div>" * 400_000))
    await awaited(begun)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert not children()


async def test_the_loop_goes_on_while_a_page_is_read_and_the_next_waits_its_turn() -> None:
    reader = PageReader(at_once=1, seconds=0.6)
    slow = asyncio.create_task(reading(reader, "<div>" * 400_000))
    await awaited(begun)
    quick = asyncio.create_task(reading(reader, "<p>quick"))
    longest = 0.0
    while not slow.done():
        since = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - since)
        assert len(children()) <= 1
    assert longest < 0.3
    assert isinstance(slow.exception(), Unreadable)
    assert (await quick).text == "quick"


async def test_a_process_that_breaks_is_said() -> None:
    with pytest.raises(Unreadable, match="cannot be read"):
        await PageReader()._ask(b"no wish\n<p>page")
