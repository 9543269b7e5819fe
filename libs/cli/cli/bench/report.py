"""How a benchmark says what it found: lines for people as it goes, one JSON document for scripts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from cli.bench.figures import Goal

Say = Callable[[str], object]


def quiet(_line: str) -> None:
    """With --json only the figures are printed."""


def conclude(title: str, goals: Sequence[Goal], figures: dict[str, Any], *, as_json: bool) -> bool:
    """Prints the verdicts (or everything, as JSON); whether every goal was met."""
    if as_json:
        verdicts = [
            {"name": goal.name, "value": goal.value, "limit": goal.limit, "unit": goal.unit, "met": goal.is_met}
            for goal in goals
        ]
        print(json.dumps(_plain({**figures, "goals": verdicts})))
    else:
        print(f"\n{title}")
        for goal in goals:
            print(line_of(goal))
    return all(goal.is_met for goal in goals)


def line_of(goal: Goal) -> str:
    bound = "at least" if goal.at_least else "at most"
    mark = "ok" if goal.is_met else "MISSED"
    return f"  {goal.name:50} {goal.value:9.2f} {goal.unit:7} ({bound} {goal.limit:g})  {mark}"


def too_busy(*, as_json: bool) -> bool:
    """No verdict, which is not a pass."""
    print(json.dumps({"error": "machine too busy"}) if as_json else "machine too busy: no verdict")
    return False


def _plain(value: Any) -> Any:
    """NaN is no JSON: a figure that could not be had is null."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value
