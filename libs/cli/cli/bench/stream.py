"""`retinue bench stream`: what Retinue adds to the model's own stream, measured against that stream in the same minute.

First the rounds, then the same load without batching, a crowd that only has to complete, both ways as fast as they
go, and litellm's own streaming beside it.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cli.bench import library, report
from cli.bench.figures import Goal, Round, complete, goals_of, oldest_transaction, percentile
from cli.bench.ground import Ground, ground
from cli.bench.meters import transactions
from cli.bench.play import (
    Shape,
    faults_of,
    idle_memory,
    one_way,
    play,
    warm_up,
    whole_round,
)
from cli.bench.report import Say

UNBATCHED = {"RETINUE_LOG_GATHER": "0"}
_FLOOD = Shape(streams=40, rate=0.0, tokens=4_000)
"""As fast as both ways go: enough to keep every process of either way busy."""


@dataclass(frozen=True)
class Plan:
    load: Shape
    rounds: int
    crowd: Shape | None
    unbatched: bool
    saturation: bool
    litellm: str | None
    """An interpreter that has litellm."""


class Bench:
    """Measures one part after the other; `goals` and `figures` grow with them."""

    def __init__(self, plan: Plan, say: Say) -> None:
        self.plan = plan
        self.goals: list[Goal] = []
        self.figures: dict[str, Any] = {"load": asdict(plan.load)}
        self._say = say

    def batched(self, standing: Ground) -> bool:
        """The rounds; False if the machine was too busy for one of them."""
        warm_up(standing, self.plan.load.rate)
        idle, rounds = idle_memory(standing), list[Round]()
        for number in range(self.plan.rounds):
            found = whole_round(standing, self.plan.load, f"round {number + 1}", idle, self._say)
            if found is None:
                return False
            rounds.append(found)
        self.figures["rounds"] = [asdict(each) for each in rounds]
        self.goals += goals_of(rounds, self.plan.load.streams, self.plan.load.rate)
        return True

    def unbatched(self, standing: Ground) -> bool:
        """One round in which every token is a batch of its own."""
        warm_up(standing, self.plan.load.rate)
        found = whole_round(standing, self.plan.load, "without batching", idle_memory(standing), self._say)
        if found is None:
            return False
        self.figures["unbatched"] = asdict(found)
        self.goals.append(Goal("the same without batching", found.cpu_ratio, 12, "x"))
        return True

    def crowd(self, standing: Ground, load: Shape) -> None:
        """More than the machine is good for: everything completes, and nobody waits for half a second."""
        result = one_way(standing, "ours", load)
        p50, p99 = (percentile(result.latencies, share) * 1e3 for share in (0.5, 0.99))
        self._say(
            f"{load.streams} × {load.rate:g}/s: complete {result.complete}, {result.tokens} tokens in "
            f"{result.seconds:.1f} s, {result.busy} times busy, p50 {p50:.1f} p99 {p99:.1f} ms{faults_of(result)}"
        )
        self.figures["crowd"] = {"streams": load.streams, "complete": result.complete, "p50": p50, "p99": p99}
        name = f"{load.streams} × {load.rate:g}/s"
        self.goals += [complete(name, result.complete, load.streams), Goal(f"{name}: p99", p99, 500, "ms")]

    def saturation(self, standing: Ground) -> None:
        """Delivered tokens a second where both ways go as fast as they can."""
        speeds: dict[str, float] = {}
        for way in ("direct", "ours"):
            result = play(standing.job(way, streams=_FLOOD.streams, tokens=_FLOOD.tokens, rate=0.0, ramp=0.0))
            speeds[way] = result.tokens / result.seconds
            self._say(
                f"as fast as it goes, {way}: {speeds[way]:.0f} tokens/s, complete {result.complete}/{_FLOOD.streams}"
                + faults_of(result)
            )
        share = speeds["ours"] / speeds["direct"] * 100
        self.figures["saturation"] = speeds
        self.goals.append(Goal("tokens a second at saturation / direct", share, 30, "%", at_least=True))

    def beside(self, standing: Ground, python: str) -> None:
        """litellm's own streaming, for comparison; no goal."""
        self.figures["litellm"] = found = library.measure(python, standing.model_url)
        self._say(f"litellm's own streaming: {library.said_of(found)}")


def run(plan: Plan, *, as_json: bool, keep: Path | None = None) -> bool:
    """Measure and print; whether every goal was met on a machine that was not busy."""
    bench = Bench(plan, report.quiet if as_json else print)
    with ExitStack() as stack:
        standing = stack.enter_context(ground(keep))
        seen = stack.enter_context(transactions(standing.stack.superuser_url))
        if not bench.batched(standing):
            return report.too_busy(as_json=as_json)
        if plan.saturation:
            bench.saturation(standing)
        if plan.crowd:
            bench.crowd(standing, plan.crowd)
        if plan.litellm:
            bench.beside(standing, plan.litellm)
    bench.goals.append(oldest_transaction(seen.oldest_age, seen.samples))
    if plan.unbatched:
        with ground(environment=UNBATCHED) as standing:
            if not bench.unbatched(standing):
                return report.too_busy(as_json=as_json)
    load = plan.load
    title = f"medians of {plan.rounds} rounds, {load.streams} streams × {load.rate:g}/s, {load.tokens} tokens each:"
    return report.conclude(title, bench.goals, bench.figures, as_json=as_json)
