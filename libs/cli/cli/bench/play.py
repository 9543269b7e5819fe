"""Playing load: one job in a process of its own, and a round of direct, ours, direct around the same load.

Where the direct stream's own p99 is beyond 5 ms, the machine is busy with something else and the round says nothing:
it is repeated, up to three times.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass

from cli.bench.figures import KINDS, Round, measured
from cli.bench.ground import Ground
from cli.bench.load import Job, Result
from cli.bench.meters import resident, sampled
from cli.bench.report import Say

_TRIES = 4
RAMP_RATE = 20.0
"""Streams begun per second. Beginning a turn costs far more than a token: faster, and the ramp is what is measured."""

_STEADY = 20.0
"""Seconds for which all streams are open, where the number of tokens was left to us."""


@dataclass(frozen=True)
class Shape:
    """The load of a round."""

    streams: int
    rate: float
    tokens: int

    @property
    def ramp(self) -> float:
        return self.streams / RAMP_RATE


def shape(streams: int, rate: float, tokens: int | None = None) -> Shape:
    """So many tokens that all streams are open together for a while, unless their number is given."""
    return Shape(streams, rate, tokens or round(rate * (streams / RAMP_RATE + _STEADY)))


def play(job: Job) -> Result:
    """Play a job in a process of its own."""
    command = [sys.executable, "-P", "-m", "cli.bench.load"]
    played = subprocess.run(command, input=json.dumps(asdict(job)) + "\n", capture_output=True, text=True, check=False)
    if played.returncode:
        raise RuntimeError(f"the load failed:\n{played.stderr}")
    return Result(**json.loads(played.stdout))


def warm_up(standing: Ground, rate: float) -> None:
    """Connections, pools and code paths that every later turn finds warm."""
    for way in ("direct", "ours"):
        play(standing.job(way, streams=20, tokens=20, rate=rate, ramp=0.5))


def one_way(standing: Ground, way: str, load: Shape) -> Result:
    return play(standing.job(way, streams=load.streams, tokens=load.tokens, rate=load.rate, ramp=load.ramp))


def whole_round(standing: Ground, load: Shape, name: str, idle_mb: float, say: Say) -> Round | None:
    """Direct, ours, direct. None: the machine was too busy every time."""
    for attempt in range(1, _TRIES + 1):
        found, ours = _round(standing, load, idle_mb)
        say(f"{name}, try {attempt}: {said_of(found)} | complete {found.complete}/{load.streams}{faults_of(ours)}")
        if not found.is_busy:
            return found
    return None


def idle_memory(standing: Ground) -> float:
    """Megabytes that gateway and runners hold now."""
    return resident(standing.pids("gateway", "turn-runner"))


def said_of(found: Round) -> str:
    return (
        f"direct p50 {found.direct_p50:.2f} p99 {found.direct_p99:.2f} first {found.direct_first:.1f} | "
        f"ours p50 {found.ours_p50:.2f} p99 {found.ours_p99:.2f} first {found.ours_first:.1f} "
        f"(all open: p50 {found.steady_p50:.2f} p99 {found.steady_p99:.2f}) ms | "
        f"CPU µs/token: bare {found.bare_us:.0f} runner {found.runner_us:.0f} gateway {found.gateway_us:.0f} "
        f"nats {found.nats_us:.0f} = {found.cpu_ratio:.1f}x | +{found.memory_mb:.0f} MB"
    )


def faults_of(result: Result) -> str:
    return "".join(f"\n  ! {fault}" for fault in result.wrong)


def _round(standing: Ground, load: Shape, idle_mb: float) -> tuple[Round, Result]:
    before = one_way(standing, "direct", load)
    pids = standing.pids("gateway", "turn-runner")
    used = {kind: standing.cpu(kind) for kind in KINDS}
    with sampled(lambda: resident(pids)) as memory:
        ours = one_way(standing, "ours", load)
    used = {kind: standing.cpu(kind) - used[kind] for kind in KINDS}
    after = one_way(standing, "direct", load)
    return measured((before, after), ours, used, memory.most - idle_mb), ours
