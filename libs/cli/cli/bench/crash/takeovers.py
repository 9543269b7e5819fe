"""How long answers stood still after a fault, and what a runner that slept did when it woke.

Counted from the last fault that touched the turn (its runner, Postgres, NATS, or any runner while nobody alive held
it) to the next batch of it that counts; where its holder was hit, to the first batch of a higher epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from cli.bench.crash.logbook import counting
from cli.bench.crash.plan import GATEWAYS, RUNNERS
from cli.bench.crash.world import Holding, Logged, Struck, Turn, World, Wrong

MEDIAN, WORST, AFTER_RETURN = 8.0, 12.0, 5.0
BUSY = 5.0
"""Seconds: where a killed service takes longer than this to be ready again, the machine is busy with something else,
and how long takeovers took says nothing about them."""
_BASES = ("nats", "postgres")


@dataclass
class Takeovers:
    """Seconds, with the turn."""

    runner: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """After its runner was lost: from the last fault to the first batch of the next holder."""
    returned: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """After NATS or Postgres was lost: from its return to the next batch."""
    ends: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """From the commit of the end to its batch in the log."""
    boots: list[float] = field(default_factory=list[float])
    """From the kill of a service until it was ready again."""

    @property
    def median(self) -> float | None:
        return median(seconds for seconds, _ in self.runner) if self.runner else None

    @property
    def say_nothing(self) -> bool:
        """The machine was too busy."""
        return bool(self.boots) and median(self.boots) > BUSY


def measured(world: World) -> Takeovers:
    found = Takeovers()
    for struck in world.struck:
        if struck.kind in ("kill", "point") and struck.name in (*RUNNERS, *GATEWAYS) and struck.back_at is not None:
            found.boots.append(struck.back_at - struck.at)
    for turn in world.turns:
        counts = counting(world.log.get(turn.id, []))
        _stood_still(turn, list(_touches(world, turn)), counts, found)
        if counts and counts[-1].is_end and turn.ended_at is not None:
            found.ends.append((counts[-1].at - turn.ended_at, turn.id))
    return found


def slow(world: World) -> Iterator[Wrong]:
    """On a machine that is busy with something else nothing is."""
    found = measured(world)
    if found.say_nothing:
        return
    if found.median is not None and found.median > MEDIAN:
        yield Wrong("slow", f"takeovers take {found.median:.1f} s in the median; at most {MEDIAN:g}")
    for seconds, turn in found.runner:
        if seconds > WORST:
            yield Wrong("slow", f"taken over after {seconds:.1f} s; at most {WORST:g}", turn)
    for seconds, turn in found.returned:
        if seconds > AFTER_RETURN:
            yield Wrong("slow", f"went on {seconds:.1f} s after NATS or Postgres returned; at most 5", turn)
    for seconds, turn in found.ends:
        if seconds > WORST:
            yield Wrong("slow", f"its end was in the log {seconds:.1f} s after it was committed", turn)


def _touches(world: World, turn: Turn) -> Iterator[tuple[Struck, Holding]]:
    lost_epoch = 0
    for struck in sorted(world.struck, key=lambda struck: struck.at):
        for holding in struck.holdings:
            if holding.turn == turn.id and _is_touched(struck, holding, lost_epoch):
                if struck.name in RUNNERS:
                    lost_epoch = holding.epoch
                yield struck, holding


def _is_touched(struck: Struck, holding: Holding, lost_epoch: int) -> bool:
    """`lost_epoch` is that of a holder who was hit before."""
    if struck.name in _BASES:
        return True
    if struck.name not in RUNNERS:
        return False
    has_holder = holding.status == "running" and holding.is_newest and holding.epoch != lost_epoch
    return not has_holder or holding.runner == struck.name


def _stood_still(
    turn: Turn, touches: Sequence[tuple[Struck, Holding]], counts: Sequence[Logged], found: Takeovers
) -> None:
    least_epoch = 0
    for number, (struck, holding) in enumerate(touches):
        if struck.name not in _BASES and holding.status == "running":
            least_epoch = max(least_epoch, holding.epoch + 1)
        went_on = next((b.at for b in counts if b.at > struck.at and b.id.epoch >= least_epoch), None)
        later = touches[number + 1][0].at if number + 1 < len(touches) else float("inf")
        if went_on is None or went_on > later:
            continue  # counted from the last
        if least_epoch:
            found.runner.append((went_on - struck.at, turn.id))
        elif struck.name in _BASES and struck.back_at is not None:
            back = struck.back_at
            after = next((b.at for b in counts if b.at > back), None)
            if after is not None and after <= later:
                found.returned.append((after - back, turn.id))
        least_epoch = 0


def awake(world: World) -> Iterator[Wrong]:
    """A runner that slept through its lease starts no tool and writes nothing of what it held."""
    for struck, holding in taken_in_sleep(world):
        for deed in _deeds(world, holding, struck.back_at or 0.0):
            yield Wrong("woke and acted", f"{struck.name}, {deed}", holding.turn)


def taken_in_sleep(world: World) -> Iterator[tuple[Struck, Holding]]:
    """What sleepers held, and others had taken when they woke."""
    for struck in world.struck:
        if struck.kind != "sleep" or struck.back_at is None:
            continue
        for holding in struck.holdings:
            is_its_own = holding.runner == struck.name and holding.is_newest and holding.status == "running"
            if is_its_own and any(
                attempt.turn == holding.turn
                and attempt.epoch > holding.epoch
                and struck.at < attempt.started_at < struck.back_at
                for attempt in world.attempts
            ):
                yield struck, holding


def _deeds(world: World, holding: Holding, woke: float) -> Iterator[str]:
    batches = world.log.get(holding.turn, [])
    for call in world.calls:
        if call.turn == holding.turn and call.epoch == holding.epoch and (call.started_at or 0) > woke:
            yield f"it started {call.name} in its old epoch {holding.epoch}"
    for attempt in world.attempts:
        is_its_own = attempt.turn == holding.turn and attempt.epoch == holding.epoch
        if is_its_own and max(attempt.started_at, attempt.ended_at or 0) > woke:
            yield f"it wrote an attempt in its old epoch {holding.epoch}"
    counts = {batch.id for batch in counting(batches)}
    for batch in batches:
        if batch.id in counts and batch.id.epoch == holding.epoch and batch.at > woke:
            yield f"its batch {batch.id} counts"
