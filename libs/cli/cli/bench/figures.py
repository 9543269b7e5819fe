"""The arithmetic of a benchmark: percentiles, rounds, and goals with their verdicts. No I/O."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from cli.bench.load import Result

BUSY = 5.0
"""Milliseconds: a direct p99 beyond this means that the machine is busy with something else."""

KINDS = ("turn-runner", "gateway", "nats")
"""The processes whose CPU a token costs."""


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all values does not exceed (nearest rank); NaN of nothing."""
    ordered = sorted(values)
    rank = max(0, math.ceil(len(ordered) * share) - 1)
    return ordered[rank] if ordered else float("nan")


@dataclass(frozen=True)
class Round:
    """One round: milliseconds, and microseconds of CPU per token."""

    direct_p50: float
    direct_p99: float
    ours_p50: float
    ours_p99: float
    steady_p50: float
    """Ours, of tokens sent while all streams were open; NaN where they never were."""
    steady_p99: float
    direct_first: float
    ours_first: float
    bare_us: float
    """The direct reader: aiohttp and a JSON parse."""
    runner_us: float
    gateway_us: float
    nats_us: float
    complete: int
    memory_mb: float
    """What gateway and runners held more than when idle, at the most."""

    @property
    def added_p50(self) -> float:
        return self.ours_p50 - self.direct_p50

    @property
    def added_p99(self) -> float:
        return self.ours_p99 - self.direct_p99

    @property
    def added_first(self) -> float:
        return self.ours_first - self.direct_first

    @property
    def cpu_ratio(self) -> float:
        """Runner, gateway and bus together, in bare parses."""
        return (self.runner_us + self.gateway_us + self.nats_us) / self.bare_us

    @property
    def runner_ratio(self) -> float:
        return self.runner_us / self.bare_us

    @property
    def is_busy(self) -> bool:
        return not self.direct_p99 <= BUSY


def measured(direct: Sequence[Result], ours: Result, used: dict[str, float], memory_mb: float) -> Round:
    """A round from the results around and of our run; `used` is CPU seconds by kind of process."""
    tokens = max(1, ours.tokens)
    latencies = [seconds for run in direct for seconds in run.latencies]
    return Round(
        direct_p50=percentile(latencies, 0.5) * 1e3,
        direct_p99=percentile(latencies, 0.99) * 1e3,
        ours_p50=percentile(ours.latencies, 0.5) * 1e3,
        ours_p99=percentile(ours.latencies, 0.99) * 1e3,
        steady_p50=percentile(ours.steady, 0.5) * 1e3,
        steady_p99=percentile(ours.steady, 0.99) * 1e3,
        direct_first=percentile([seconds for run in direct for seconds in run.first], 0.5) * 1e3,
        ours_first=percentile(ours.first, 0.5) * 1e3,
        bare_us=sum(run.cpu for run in direct) / max(1, sum(run.tokens for run in direct)) * 1e6,
        runner_us=used["turn-runner"] / tokens * 1e6,
        gateway_us=used["gateway"] / tokens * 1e6,
        nats_us=used["nats"] / tokens * 1e6,
        complete=ours.complete,
        memory_mb=memory_mb,
    )


@dataclass(frozen=True)
class Goal:
    """A figure and what it may be at most (or must be at least). NaN meets nothing."""

    name: str
    value: float
    limit: float
    unit: str = ""
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def oldest_transaction(seconds: float, samples: int) -> Goal:
    """The age of the oldest one in so many looks; none looked means that nothing is known."""
    return Goal("oldest transaction", seconds if samples else float("nan"), 5, "s")


def complete(name: str, done: int, wanted: int) -> Goal:
    return Goal(f"{name} complete", done, wanted, "streams", at_least=True)


def goals_of(rounds: Sequence[Round], streams: int, rate: float) -> list[Goal]:
    """What is asked of so many streams at this rate: medians of the rounds. Issue 2 up to 4,000 tokens a second,
    issue 3 up to 10,000; beyond that only that all complete, within half a second.
    """

    def middle(name: str) -> float:
        return median(getattr(each, name) for each in rounds)

    goals = [complete(f"{streams} × {rate:g}/s", min(each.complete for each in rounds), streams)]
    speed = streams * rate
    if speed <= 4_000:
        goals += [
            Goal("added p50", middle("added_p50"), 5, "ms"),
            Goal("added p99", middle("added_p99"), 40, "ms"),
            Goal("first token added", middle("added_first"), 30, "ms"),
            Goal("runner CPU per token / bare parse", middle("runner_ratio"), 8, "x"),
        ]
    elif speed <= 10_000 and streams <= 500:
        goals += [
            Goal("added p50", middle("added_p50"), 15, "ms"),
            Goal("added p99", middle("added_p99"), 120, "ms"),
            Goal("runner + gateway + bus CPU per token / bare parse", middle("cpu_ratio"), 8, "x"),
        ]
    else:
        goals.append(Goal("p99", middle("ours_p99"), 500, "ms"))
    if streams <= 500:
        goals.append(Goal("memory above idle", max(each.memory_mb for each in rounds), 60, "MB"))
    return goals


def growth(samples: Sequence[tuple[float, float]], *, settle: float = 0.2) -> float:
    """How much later values (time, value) are above earlier ones, once the first share of the time has passed:
    the mean of the last quarter of the rest less the mean of its first quarter. NaN of fewer than eight.
    """
    if not samples:
        return float("nan")
    begun, ended = samples[0][0], samples[-1][0]
    rest = [value for moment, value in samples if moment >= begun + (ended - begun) * settle]
    quarter = len(rest) // 4
    if quarter < 2:
        return float("nan")
    return fmean(rest[-quarter:]) - fmean(rest[:quarter])
