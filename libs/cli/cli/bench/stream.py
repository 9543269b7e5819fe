"""`retinue bench stream`: what Retinue adds to the model's own stream, measured against that stream in the same minute.

A round is direct, ours, direct, with the same load. Where the direct stream's own p99 is beyond 5 ms, the machine is
busy with something else and the round says nothing: it is repeated, up to three times.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from cli.bench.ground import Ground, ground
from cli.bench.load import Job, Result

BUSY = 0.005
"""Seconds: a direct p99 beyond this means that the machine is busy with something else."""
_TRIES = 4
_RAMP_RATE = 20.0
"""Streams begun per second. Beginning a turn costs far more than a token: faster, and the ramp is what is measured."""


@dataclass(frozen=True)
class Plan:
    streams: int
    rate: float
    tokens: int
    rounds: int
    crowd: int


@dataclass(frozen=True)
class Round:
    """Milliseconds, and microseconds of CPU per token."""

    direct_p50: float
    direct_p99: float
    ours_p50: float
    ours_p99: float
    direct_first: float
    ours_first: float
    bare_us: float
    """The direct reader: aiohttp and a JSON parse."""
    runner_us: float
    gateway_us: float
    nats_us: float
    complete: int


@dataclass(frozen=True)
class Target:
    name: str
    limit: float
    unit: str
    value: Callable[[list[Round]], float]


TARGETS = (
    Target("added p50", 5.0, "ms", lambda rounds: median(r.ours_p50 - r.direct_p50 for r in rounds)),
    Target("added p99", 40.0, "ms", lambda rounds: median(r.ours_p99 - r.direct_p99 for r in rounds)),
    Target("first token added", 30.0, "ms", lambda rounds: median(r.ours_first - r.direct_first for r in rounds)),
    Target(
        "runner CPU per token / bare parse", 8.0, "x", lambda rounds: median(r.runner_us / r.bare_us for r in rounds)
    ),
)


def run(plan: Plan, *, as_json: bool, keep: Path | None = None) -> bool:
    """Measure and print; whether every target was met on a machine that was not busy."""
    say = _quiet if as_json else print
    with ground(keep) as standing:
        _warm_up(standing, plan)
        rounds: list[Round] = []
        for number in range(plan.rounds):
            measured = _round(standing, plan, f"round {number + 1}", say)
            if measured is None:
                return _too_busy(as_json)
            rounds.append(measured)
        crowd = _crowd(standing, plan, say)
    return _verdict(plan, rounds, crowd, as_json=as_json)


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def _round(standing: Ground, plan: Plan, name: str, say: Callable[[str], object]) -> Round | None:
    """None: the direct stream was too slow every time."""
    for attempt in range(1, _TRIES + 1):
        before = _play(standing, plan, "direct")
        kinds = ("turn-runner", "gateway", "nats")
        used = {kind: standing.cpu(kind) for kind in kinds}
        ours = _play(standing, plan, "ours")
        used = {kind: standing.cpu(kind) - used[kind] for kind in kinds}
        after = _play(standing, plan, "direct")
        measured = _measured(plan, (before, after), ours, used)
        say(
            f"{name}, try {attempt}: direct p50 {measured.direct_p50:.2f} p99 {measured.direct_p99:.2f} "
            f"first {measured.direct_first:.1f} | ours p50 {measured.ours_p50:.2f} p99 {measured.ours_p99:.2f} "
            f"first {measured.ours_first:.1f} ms | CPU µs/token: bare {measured.bare_us:.0f} runner "
            f"{measured.runner_us:.0f} gateway {measured.gateway_us:.0f} nats {measured.nats_us:.0f} | "
            f"complete {measured.complete}/{plan.streams}" + "".join(f"\n  ! {fault}" for fault in ours.wrong)
        )
        if measured.direct_p99 <= BUSY * 1000:
            return measured
    return None


def _measured(plan: Plan, direct: tuple[Result, Result], ours: Result, used: dict[str, float]) -> Round:
    tokens = max(1, ours.tokens)
    latencies = [*direct[0].latencies, *direct[1].latencies]
    return Round(
        direct_p50=median(latencies) * 1e3,
        direct_p99=percentile(latencies, 0.99) * 1e3,
        ours_p50=percentile(ours.latencies, 0.5) * 1e3,
        ours_p99=percentile(ours.latencies, 0.99) * 1e3,
        direct_first=median([*direct[0].first, *direct[1].first]) * 1e3,
        ours_first=percentile(ours.first, 0.5) * 1e3,
        bare_us=sum(run.cpu for run in direct) / max(1, sum(run.tokens for run in direct)) * 1e6,
        runner_us=used["turn-runner"] / tokens * 1e6,
        gateway_us=used["gateway"] / tokens * 1e6,
        nats_us=used["nats"] / tokens * 1e6,
        complete=ours.complete,
    )


def _warm_up(standing: Ground, plan: Plan) -> None:
    """Connections, pools and code paths that every later turn finds warm."""
    for way in ("direct", "ours"):
        _load(standing.job(way, streams=min(20, plan.streams), tokens=20, rate=plan.rate, ramp=0.5))


def _play(standing: Ground, plan: Plan, way: str) -> Result:
    ramp = plan.streams / _RAMP_RATE
    return _load(standing.job(way, streams=plan.streams, tokens=plan.tokens, rate=plan.rate, ramp=ramp))


def _crowd(standing: Ground, plan: Plan, say: Callable[[str], object]) -> Result | None:
    if not plan.crowd:
        return None
    job = standing.job("ours", streams=plan.crowd, tokens=plan.tokens, rate=plan.rate, ramp=plan.crowd / _RAMP_RATE)
    result = _load(job)
    say(
        f"{plan.crowd} streams: complete {result.complete}, {result.tokens} tokens in {result.seconds:.1f} s, "
        f"{result.busy} times busy, "
        f"p50 {percentile(result.latencies, 0.5) * 1e3:.1f} p99 {percentile(result.latencies, 0.99) * 1e3:.1f} ms"
        + "".join(f"\n  ! {fault}" for fault in result.wrong)
    )
    return result


def _load(job: Job) -> Result:
    """Play a job in a process of its own."""
    command = [sys.executable, "-P", "-m", "cli.bench.load"]
    played = subprocess.run(command, input=json.dumps(asdict(job)) + "\n", capture_output=True, text=True, check=False)
    if played.returncode:
        raise RuntimeError(f"the load failed:\n{played.stderr}")
    return Result(**json.loads(played.stdout))


def _verdict(plan: Plan, rounds: list[Round], crowd: Result | None, *, as_json: bool) -> bool:
    values = {target.name: target.value(rounds) for target in TARGETS}
    passed = {target.name: values[target.name] <= target.limit for target in TARGETS}
    passed["all complete"] = all(measured.complete == plan.streams for measured in rounds)
    if crowd is not None:
        passed[f"{plan.crowd} complete"] = crowd.complete == plan.crowd
    if as_json:
        figures: dict[str, Any] = {"rounds": [asdict(r) for r in rounds], "medians": values, "passed": passed}
        if crowd is not None:
            figures["crowd"] = {"streams": plan.crowd, "complete": crowd.complete, "tokens": crowd.tokens}
        print(json.dumps(figures))
        return all(passed.values())
    print(f"\nmedians of {len(rounds)} rounds, {plan.streams} streams × {plan.rate:g}/s:")
    for target in TARGETS:
        mark = "ok" if passed[target.name] else "MISSED"
        print(f"  {target.name:36} {values[target.name]:8.2f} {target.unit:3} (at most {target.limit:g})  {mark}")
    for name in list(passed)[len(TARGETS) :]:
        print(f"  {name:36} {'ok' if passed[name] else 'MISSED'}")
    return all(passed.values())


def _too_busy(as_json: bool) -> bool:
    print(json.dumps({"error": "machine too busy"}) if as_json else "machine too busy: no verdict")
    return False


def _quiet(_line: str) -> None:
    """With --json only the figures are printed."""
