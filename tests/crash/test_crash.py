"""One minute of the crash bench with a fixed seed, on a stack of its own: every promise holds.

Longer, with any seed: `retinue bench crash --minutes 5 --seed S`. What is promised: docs/operate/durability.md.
"""

from __future__ import annotations

import pytest

from cli.bench.crash.run import Wanted, run

SEED = 1


@pytest.mark.timeout(600)
def test_a_minute_of_kills_breaks_no_promise(capsys: pytest.CaptureFixture[str]) -> None:
    report = run(Wanted(minutes=1, seed=SEED, streams=10))
    said = "\n".join(report.lines())
    assert report.has_passed, said
    kills = [struck for struck in report.world.struck if struck.kind in ("kill", "point")]
    assert len(kills) >= 8, said
    assert any(turn.recoveries for turn in report.world.turns), said
