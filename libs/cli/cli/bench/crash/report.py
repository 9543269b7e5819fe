"""One page about a run: what was done, what came of it, and everything that went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chassis.faults import POINTS
from cli.bench.crash import answers, books, logbook, takeovers
from cli.bench.crash.plan import PROCESSES
from cli.bench.crash.world import World, Wrong

CHECKS = (
    answers.lost,
    answers.doubled,
    answers.stuck,
    answers.unequal,
    answers.garbled,
    books.unbooked,
    books.unsettled,
    logbook.broken,
    takeovers.slow,
    takeovers.awake,
)
_SHOWN = 40
_BUSY = "the machine was busy with something else: no verdict about times"


@dataclass
class Report:
    seed: int
    minutes: float
    world: World
    wrong: list[Wrong]
    logs: Path

    @property
    def has_passed(self) -> bool:
        return not self.wrong

    def lines(self) -> Iterator[str]:
        yield f"\nseed {self.seed}, {self.minutes:g} minutes"
        yield from _faults(self.world)
        yield from _turns(self.world)
        yield from _times(self.world)
        yield from self._wrong_ones()

    def as_json(self) -> dict[str, Any]:
        found = takeovers.measured(self.world)
        return {
            "seed": self.seed,
            "minutes": self.minutes,
            "passed": self.has_passed,
            "faults": dict(Counter(_title(struck.kind, struck.point or struck.name) for struck in self.world.struck)),
            "turns": dict(Counter(turn.status for turn in self.world.turns)),
            "takeovers": sorted(seconds for seconds, _ in found.runner),
            "after_return": sorted(seconds for seconds, _ in found.returned),
            "boots": sorted(found.boots),
            "too_busy_for_times": found.say_nothing,
            "wrong": [vars(wrong) for wrong in self.wrong],
            "logs": str(self.logs),
        }

    def _wrong_ones(self) -> Iterator[str]:
        if self.has_passed:
            yield "0 lost, 0 doubled, 0 stuck; every viewer's message is the stored one; the books agree"
            return
        for wrong in self.wrong[:_SHOWN]:
            yield f"! {wrong.promise}: {wrong.what}" + (f"  [turn {wrong.turn}]" if wrong.turn else "")
            turn = self.world.turn(wrong.turn) if wrong.turn else None
            for struck in self.world.around(turn):
                after = struck.at - turn.accepted_at if turn else 0.0
                yield f"      {after:+6.1f} s  {struck}"
        if len(self.wrong) > _SHOWN:
            yield f"  … and {len(self.wrong) - _SHOWN} more"
        yield f"FAILED: {dict(Counter(wrong.promise for wrong in self.wrong))}"
        yield f"logs are in {self.logs}, what was found is in world.json beside the data folder"


def judged(world: World) -> list[Wrong]:
    """Everything that every check finds."""
    return [wrong for check in CHECKS for wrong in check(world)]


def uncovered(world: World, times: int) -> list[Wrong]:
    """Processes and points that were hit less often than they should have been."""
    processes = Counter(struck.name for struck in world.struck if struck.kind in ("kill", "point"))
    points = Counter(struck.point for struck in world.struck if struck.point)
    few = [(name, processes[name]) for name in PROCESSES if processes[name] < times]
    few += [(point, points[point]) for point in POINTS if points[point] < times]
    wrong = [Wrong("uncovered", f"{name} was hit {count} times; at least {times}") for name, count in few]
    if not any(takeovers.taken_in_sleep(world)):
        wrong.append(Wrong("uncovered", "no sleeper lost a turn that it could have touched when it woke"))
    return wrong


def _faults(world: World) -> Iterator[str]:
    kills = [struck for struck in world.struck if struck.kind in ("kill", "point")]
    by_name = Counter(struck.name for struck in kills)
    by_point = Counter(struck.point for struck in kills if struck.point)
    others = Counter(struck.kind for struck in world.struck if struck.kind in ("sleep", "cut"))
    yield f"kills {len(kills)}: " + ", ".join(f"{name} {by_name[name]}" for name in PROCESSES)
    yield "  at points: " + ", ".join(f"{point} {by_point[point]}" for point in POINTS)
    taken = sum(1 for _ in takeovers.taken_in_sleep(world))
    yield f"  sleeps {others['sleep']}, {taken} turns were taken meanwhile; cuts {others['cut']}"


def _turns(world: World) -> Iterator[str]:
    states = Counter(turn.status for turn in world.turns)
    taken = sum(turn.recoveries > 0 for turn in world.turns)
    kinds = Counter(sent.kind for sent in world.sent)
    yield f"turns {len(world.turns)}: {dict(states)}; {taken} of them taken over; {dict(kinds)}"
    superseded = sum(seen.superseded > 0 for seen in world.seen)
    connections = sum(seen.connections for seen in world.seen)
    yield f"viewers {len(world.seen)} over {connections} connections, {superseded} saw text taken back"
    attempts = Counter(attempt.state for attempt in world.attempts)
    yield f"model calls {len(world.served)}, attempts {dict(attempts)}; side effects {len(world.marks)}"


def _times(world: World) -> Iterator[str]:
    found = takeovers.measured(world)
    yield f"takeover after the last fault: {_spread(found.runner)} (median at most 8, worst at most 12)"
    yield f"going on after NATS or Postgres returned: {_spread(found.returned)} (at most 5)"
    yield f"from the end's commit to its batch in the log: {_spread(found.ends)}"
    boots = _spread([(seconds, "") for seconds in found.boots])
    yield f"a killed service was ready again after: {boots}" + (f"; {_BUSY}" if found.say_nothing else "")


def _spread(times: Sequence[tuple[float, str]]) -> str:
    ordered = sorted(seconds for seconds, _ in times)
    if not ordered:
        return "none"
    return f"{len(ordered)} ×, median {ordered[len(ordered) // 2]:.2f} s, worst {ordered[-1]:.2f} s"


def _title(kind: str, name: str) -> str:
    return f"{kind} {name}"
