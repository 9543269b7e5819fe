"""`retinue bench history`: whether a turn of a long conversation moves more bytes than one of a short one.

The prompt goes to the model and is not counted (its window is a matter of context, not of the path); what goes to
the browser, over the bus and into Postgres must not depend on how much was said before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from cli.bench import report
from cli.bench.figures import Goal
from cli.bench.ground import Ground, ground
from cli.bench.load import Job, Result
from cli.bench.play import play, warm_up
from cli.bench.report import Say
from cli.up import postgres, running

LIMIT = 1.2
_MEASURED, _TOKENS, _RATE = 8, 100, 50.0
"""Turns that are measured, and their answers."""

_REST = 8
"""Seconds in which nobody sends: what heartbeats and sweeps move by themselves, in a second like most, is taken off."""


@dataclass(frozen=True)
class Moved:
    """Bytes: since the stack began, or per turn."""

    browser: float
    bus: float
    postgres: float

    def less(self, other: Moved) -> Moved:
        return Moved(self.browser - other.browser, self.bus - other.bus, self.postgres - other.postgres)

    def times(self, factor: float) -> Moved:
        return Moved(self.browser * factor, self.bus * factor, self.postgres * factor)


def run(*, short: int, long: int, as_json: bool) -> bool:
    """Measure turns of one thread when it has `short` turns, then when it has `long`."""
    say = report.quiet if as_json else print
    with ground() as standing:
        _without_page_images(standing)
        warm_up(standing, _RATE)
        conversation = Conversation(standing)
        conversation.grow(short)
        before = conversation.measure(say)
        conversation.grow(long)
        after = conversation.measure(say)
    names = {"browser": "bytes to the browser", "bus": "bytes on the bus", "postgres": "bytes into Postgres"}
    first, last = asdict(before), asdict(after)
    goals = [
        Goal(f"{names[kind]} per turn, {long} turns / {short}", last[kind] / first[kind], LIMIT, "x") for kind in names
    ]
    figures: dict[str, Any] = {"short": first, "long": last}
    return report.conclude("a turn of a long conversation:", goals, figures, as_json=as_json)


class Conversation:
    """One thread that grows, turn by turn, through the real thing."""

    def __init__(self, standing: Ground) -> None:
        self.turns = 0
        self._standing = standing
        self._threads = standing.job("ours", streams=1, tokens=1, rate=0.0, ramp=0.0).threads

    def grow(self, turns: int) -> None:
        """Short answers until it has so many turns."""
        self._play(turns - self.turns, tokens=2, rate=0.0)

    def measure(self, say: Say) -> Moved:
        """What one turn moves, on average."""
        begun_with = self.turns
        second = middle([_while(self._standing, lambda: _wait(1.0)) for _ in range(_REST)])
        began = time.monotonic()
        moved = _while(self._standing, lambda: self._play(_MEASURED, _TOKENS, _RATE).received)
        own = moved.less(second.times(time.monotonic() - began)).times(1 / _MEASURED)
        say(
            f"after {begun_with} turns, per turn of {_TOKENS} tokens: to the browser {own.browser:.0f}, "
            f"on the bus {own.bus:.0f}, into Postgres {own.postgres:.0f} bytes"
        )
        return own

    def _play(self, turns: int, tokens: int, rate: float) -> Result:
        url = self._standing.stack.url
        result = play(Job("ours", url, 1, tokens, rate, 0.0, self._threads, turns=turns, first_turn=self.turns))
        if result.complete != turns:
            raise RuntimeError(f"{result.complete} of {turns} turns completed: {result.wrong}")
        self.turns += turns
        return result


def middle(moved: Sequence[Moved]) -> Moved:
    """The median of each kind: one second with a vacuum in it says nothing of the others."""
    return Moved(*(median(getattr(each, kind) for each in moved) for kind in ("browser", "bus", "postgres")))


def _wait(seconds: float) -> int:
    time.sleep(seconds)
    return 0


def _while(standing: Ground, act: Callable[[], int]) -> Moved:
    """What moved while `act` ran, which returns the bytes that its reader received."""
    bus, wal = standing.bus_bytes(), _wal(standing)
    browser = act()
    return Moved(browser, standing.bus_bytes() - bus, _wal(standing) - wal)


def _wal(standing: Ground) -> int:
    """Bytes that Postgres has written ahead so far."""
    return int(_ask(standing, "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))


def _without_page_images(standing: Ground) -> None:
    """Whole pages follow each checkpoint, whoever wrote: they would be noise of 8 KiB each."""
    _ask(standing, "alter system set full_page_writes = off")
    _ask(standing, "select pg_reload_conf()")


def _ask(standing: Ground, question: str) -> str:
    answer = asyncio.run(postgres.answer(running.ground_of(standing.stack.data_dir), question))
    if answer is None:
        raise RuntimeError(f"Postgres did not answer: {question}")
    return answer
