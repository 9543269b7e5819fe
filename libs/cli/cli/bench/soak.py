"""`retinue bench soak`: the same streams for minutes, and whether gateway and runners go on holding the same memory."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from statistics import fmean
from typing import Any

from cli.bench import report
from cli.bench.figures import Goal, growth, oldest_transaction, percentile
from cli.bench.ground import Ground, ground
from cli.bench.load import Result
from cli.bench.meters import Samples, resident, sampled, transactions
from cli.bench.play import RAMP_RATE, faults_of, idle_memory, play, warm_up

FLAT_MB = 5.0
"""What allocators and caches may still gather; a leak of 100 bytes a token would be 600 MB in ten minutes."""


def run(*, streams: int, rate: float, tokens: int, minutes: float, as_json: bool) -> bool:
    """Keep `streams` streams open, each begun again when it ends; print what memory did."""
    say = report.quiet if as_json else print
    with ground() as standing:
        warm_up(standing, rate)
        idle = idle_memory(standing)
        with transactions(standing.stack.superuser_url) as seen:
            result, samples = _soak(standing, streams, rate, tokens, minutes)
    say(f"{result.complete} turns, {result.tokens} tokens, {result.busy} times busy{faults_of(result)}")
    for minute, megabytes in by_minute(samples):
        say(f"  minute {minute:3}: {megabytes - idle:6.1f} MB above idle")
    goals = [
        Goal("turns that went wrong", len(result.wrong), 0, "turns"),
        Goal("memory above idle", samples.most - idle, 60, "MB"),
        Goal("growth of memory once it has settled", growth(samples.taken), FLAT_MB, "MB"),
        oldest_transaction(seen.oldest_age, seen.samples),
    ]
    figures: dict[str, Any] = {
        "idle_mb": idle,
        "memory_mb": by_minute(samples),
        "turns": result.complete,
        "p50": percentile(result.latencies, 0.5) * 1e3,
        "p99": percentile(result.latencies, 0.99) * 1e3,
    }
    return report.conclude(f"{streams} streams × {rate:g}/s for {minutes:g} minutes:", goals, figures, as_json=as_json)


def by_minute(samples: Samples) -> list[tuple[int, float]]:
    """The mean of each minute."""
    minutes = groupby(samples.taken, lambda taken: int(taken[0] // 60))
    return [(minute, fmean(value for _, value in taken)) for minute, taken in minutes]


def _soak(standing: Ground, streams: int, rate: float, tokens: int, minutes: float) -> tuple[Result, Samples]:
    pids = standing.pids("gateway", "turn-runner")
    job = standing.job("ours", streams=streams, tokens=tokens, rate=rate, ramp=streams / RAMP_RATE)
    with sampled(lambda: resident(pids), every=1.0) as samples:
        result = play(replace(job, again_for=minutes * 60))
    return result, samples
