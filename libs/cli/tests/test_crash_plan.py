"""The plan of a crash run: whatever the seed, it covers what it must, at the pace that it should."""

from collections import Counter
from itertools import pairwise

import pytest

from chassis.faults import POINTS
from cli.bench.crash.plan import LONGEST, PROCESSES, RUNNERS, SHORTEST, SLEEP, draw

SEEDS = range(200)


@pytest.mark.parametrize("seed", SEEDS)
def test_five_minutes_hit_everything_twice_at_the_right_pace(seed: int) -> None:
    plan = draw(seed, 300)
    kills = [fault for fault in plan if fault.kind in ("kill", "point")]
    assert len(kills) >= 40
    for before, after in pairwise(kills):
        assert SHORTEST <= after.at - before.at <= LONGEST
    hit = Counter((fault.kind, fault.name) for fault in plan)
    assert all(hit["kill", name] >= 2 for name in PROCESSES)
    assert all(hit["point", name] >= 2 for name in POINTS)
    assert all(hit["sleep", name] >= 2 for name in RUNNERS)
    assert hit["cut", "0.5"] + hit["cut", "0.25"] + hit["cut", "1.0"] >= 20
    assert max(fault.at for fault in plan) < 300


@pytest.mark.parametrize("seed", SEEDS)
def test_one_minute_hits_as_much_as_it_can_and_every_sleeper_wakes_in_it(seed: int) -> None:
    plan = draw(seed, 60)
    kills = [(fault.kind, fault.name) for fault in plan if fault.kind in ("kill", "point")]
    assert len(kills) >= 10
    assert len(set(kills)) >= len(kills) - 2  # a calm sleep leaves little to choose from
    (sleep,) = (fault for fault in plan if fault.kind == "sleep")
    assert sleep.at + SLEEP < 60
    meanwhile = {fault.name for fault in plan if fault.kind in ("kill", "point") and 0 < fault.at - sleep.at < SLEEP}
    assert meanwhile <= {"gateway-1", "gateway-2", "nats", "valkey", "accepted"}


def test_a_seed_gives_its_plan_again_and_another_seed_another() -> None:
    assert draw(7, 300) == draw(7, 300)
    assert draw(7, 300) != draw(8, 300)
