"""An event loop whose clock jumps: minutes of heartbeats, silences and retries pass in no time, in a fixed order."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jump(selectors.SelectSelector):
    """Waits for nobody: what would be a pause moves the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everybody waits, and nothing will ever happen")
        self.now += max(0.0, timeout)
        return super().select(0)


def play_out(story: Coroutine[Any, Any, T]) -> T:
    """Runs a story to its end. AssertionError when everybody in it waits for somebody else."""
    jump = _Jump()
    loop = asyncio.SelectorEventLoop(jump)
    loop.time = lambda: jump.now  # type: ignore[method-assign]
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(story)


async def calm() -> None:
    """Whatever can happen at this very moment has happened."""
    for _ in range(12):
        await asyncio.sleep(0)
