"""The benches' own arithmetic: a percentile, a verdict or a growth that is wrong would make every figure wrong."""

import json
import math

import pytest

from cli.bench import report
from cli.bench.figures import Goal, Round, complete, goals_of, growth, measured, oldest_transaction, percentile
from cli.bench.history import Moved, middle
from cli.bench.load import Job, Result
from cli.bench.play import shape


def a_round(**figures: float) -> Round:
    told = {
        "direct_p50": 0.3,
        "direct_p99": 2.0,
        "ours_p50": 2.3,
        "ours_p99": 32.0,
        "steady_p50": 2.0,
        "steady_p99": 20.0,
        "direct_first": 5.0,
        "ours_first": 30.0,
        "bare_us": 10.0,
        "runner_us": 40.0,
        "gateway_us": 20.0,
        "nats_us": 15.0,
        "complete": 200,
        "memory_mb": 12.0,
    }
    return Round(**(told | figures))  # type: ignore[arg-type]


def goal(goals: list[Goal], name: str) -> Goal:
    (found,) = [each for each in goals if each.name == name]
    return found


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_a_percentile_is_the_nearest_rank(share: float, value: int) -> None:
    assert percentile(list(range(100, 0, -1)), share) == value


def test_the_percentile_of_nothing_meets_no_goal() -> None:
    nothing = percentile([], 0.5)
    assert math.isnan(nothing)
    assert not Goal("p50", nothing, 5).is_met
    assert not Goal("share", nothing, 5, at_least=True).is_met


def test_what_is_added_is_the_difference_and_cpu_is_per_token() -> None:
    direct = [
        Result(tokens=100, cpu=0.001, latencies=[0.001] * 9, first=[0.004]),
        Result(tokens=300, cpu=0.003, latencies=[0.003] * 9, first=[0.006]),
    ]
    ours = Result(complete=2, tokens=200, latencies=[0.005] * 99 + [0.5], steady=[0.004], first=[0.030])
    found = measured(direct, ours, {"turn-runner": 0.008, "gateway": 0.004, "nats": 0.002}, memory_mb=3.0)
    assert found.bare_us == pytest.approx(10)
    assert (found.runner_us, found.gateway_us, found.nats_us) == pytest.approx((40, 20, 10))
    assert found.cpu_ratio == pytest.approx(7)
    assert found.added_p50 == pytest.approx(4)
    assert found.added_p99 == pytest.approx(2)  # the one that took half a second is the last hundredth
    assert found.added_first == pytest.approx(26)
    assert found.steady_p99 == pytest.approx(4)


def test_a_round_whose_direct_stream_was_slow_says_nothing() -> None:
    assert not a_round(direct_p99=5.0).is_busy
    assert a_round(direct_p99=5.1).is_busy
    assert a_round(direct_p99=float("nan")).is_busy


def test_goals_are_medians_over_the_rounds() -> None:
    rounds = [a_round(ours_p50=2.3), a_round(ours_p50=3.3), a_round(ours_p50=90.3)]
    added = goal(goals_of(rounds, 200, 20), "added p50")
    assert added.value == pytest.approx(3.0)
    assert added.is_met


def test_one_stream_that_is_missing_in_one_round_is_too_many() -> None:
    rounds = [a_round(complete=200), a_round(complete=199)]
    assert not goal(goals_of(rounds, 200, 20), "200 × 20/s complete").is_met
    assert complete("all", 3, 3).is_met


@pytest.mark.parametrize(
    ("streams", "rate", "name", "limit"),
    [
        (200, 20, "added p50", 5),
        (200, 20, "first token added", 30),
        (500, 20, "added p50", 15),
        (500, 20, "added p99", 120),
        (1000, 10, "p99", 500),
        (500, 20, "memory above idle", 60),
    ],
)
def test_the_load_decides_what_is_asked(streams: int, rate: float, name: str, limit: float) -> None:
    assert goal(goals_of([a_round()], streams, rate), name).limit == limit


def test_growth_leaves_out_the_beginning_and_sees_what_goes_on_rising() -> None:
    flat = [(float(second), 80.0 if second > 20 else second * 4.0) for second in range(101)]
    assert growth(flat) == pytest.approx(0)
    leak = [(float(second), second * 0.5) for second in range(101)]
    assert growth(leak) > 25
    assert math.isnan(growth(flat[:5]))
    assert math.isnan(growth([]))


def test_all_streams_are_open_together_unless_told_otherwise() -> None:
    load = shape(500, 20)
    steady = Job("ours", "", load.streams, load.tokens, load.rate, load.ramp).steady
    assert steady == pytest.approx((26, 45))
    assert shape(500, 20, tokens=30).tokens == 30


def test_a_run_of_minutes_keeps_no_more_latencies_than_a_million() -> None:
    assert Job("ours", "", 500, 900, 20, 25).every == 1
    long = Job("ours", "", 500, 400, 20, 25, again_for=600)
    assert long.every == 7
    assert 500 * 20 * 600 / long.every < 1_000_000


def test_a_transaction_that_nobody_looked_for_meets_nothing() -> None:
    assert oldest_transaction(0.3, samples=9).is_met
    assert not oldest_transaction(5.1, samples=9).is_met
    assert not oldest_transaction(0.0, samples=0).is_met


def test_what_moves_by_itself_is_the_middle_of_each_kind() -> None:
    seconds = [Moved(0, 100, 50), Moved(0, 90, 9_000_000), Moved(0, 110, 60)]
    assert middle(seconds) == Moved(0, 100, 60)
    assert Moved(10, 1100, 660).less(middle(seconds).times(2)).times(1 / 2) == Moved(5, 450, 270)


def test_a_document_holds_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    passed = report.conclude("", [Goal("p50", float("nan"), 5)], {"rounds": [{"p50": float("nan")}]}, as_json=True)
    told = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert not passed
    assert told["rounds"] == [{"p50": None}]
    assert told["goals"][0]["met"] is False
