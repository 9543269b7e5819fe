"""Alert rules are Prometheus rules, and watch metrics and labels that we really have."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from chassis.metrics import REGISTRY
from tests.kit.routing import PACKAGES, ROOT

RULES = sorted((ROOT / "deploy/alerts").glob("*.yaml"))
# What Prometheus' own language brings.
WORDS = {
    "sum",
    "max",
    "min",
    "avg",
    "count",
    "by",
    "without",
    "increase",
    "rate",
    "on",
    "and",
    "or",
    "unless",
    "consumer",
}
MEASURES = re.compile(r"metrics\.(counter|gauge|histogram)\(")


def names() -> dict[str, set[str]]:
    """Every metric that some module of ours makes, with its labels."""
    for package in PACKAGES:
        folder = Path(str(import_module(package).__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            if MEASURES.search(path.read_text()):
                import_module(".".join((package, *path.relative_to(folder).with_suffix("").parts)))
    made: dict[str, set[str]] = {}
    for collector in list(REGISTRY._collector_to_names):
        labels = set(getattr(collector, "_labelnames", ()))
        for name in REGISTRY._collector_to_names[collector]:
            made[name] = labels
    return made


def rules() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for path in RULES:
        for group in yaml.safe_load(path.read_text())["groups"]:
            found += [(f"{path.stem}: {rule['alert']}", rule) for rule in group["rules"]]
    return found


def test_there_are_rules_and_their_groups_have_names_of_their_own() -> None:
    groups = [group["name"] for path in RULES for group in yaml.safe_load(path.read_text())["groups"]]
    assert groups
    assert len(set(groups)) == len(groups)


@pytest.mark.parametrize("rule", [rule for _, rule in rules()], ids=[name for name, _ in rules()])
def test_a_rule_is_one_for_prometheus_and_its_metrics_are_ours(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert {"summary", "description"} <= set(rule["annotations"])
    if "for" in rule:
        assert re.fullmatch(r"\d+[smhd]", rule["for"])
    expression = rule["expr"]
    assert expression.count("(") == expression.count(")")
    words = set(re.findall(r"[a-z_]{2,}", re.sub(r"\[\d+[smhd]\]", "", expression))) - WORDS
    known = names()
    assert words
    assert words <= set(known), "a metric that nobody measures never alerts"
    for by in re.findall(r"by \(([^)]*)\)", expression):
        for word in words:
            assert {label.strip() for label in by.split(",")} <= known[word], "a label that the metric does not have"
    for told in rule["annotations"].values():
        for label in re.findall(r"\$labels\.(\w+)", told):
            assert label in expression, "what is named must survive the aggregation"
