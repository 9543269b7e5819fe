"""Waiting for what a test expects, with a deadline, instead of sleeping and hoping."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
PAUSE_SECONDS = 0.05


def eventually(look: Callable[[], T | None], seconds: float = 10.0, what: str = "") -> T:
    """The first true answer of `look`; AssertionError with the last answer after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        answer = look()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what or look!r} (last answer: {answer!r})")
        time.sleep(PAUSE_SECONDS)


async def awaited(look: Callable[[], Awaitable[T | None]], seconds: float = 10.0, what: str = "") -> T:
    """The same for a look that is itself waited for, more often: what is measured with it is measured to 20 ms."""
    deadline = time.monotonic() + seconds
    while True:
        answer = await look()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what or look!r} (last answer: {answer!r})")
        await asyncio.sleep(0.02)
