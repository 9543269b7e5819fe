"""The sheet of all tools: what they are called, what they are for, where they are offered, what they take.

Written from the register of the turn-runner (`python -m turn_runner.tools.sheet`), so that others can show tools and
check names without importing what runs them. A test holds the two equal.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolSheet:
    """A tool as people and models get to know it."""

    name: str
    title: str
    summary: str
    description: str
    tier: str
    where: str
    channels: tuple[str, ...]
    """Channels whose profile has it."""
    schema: dict[str, Any]


@cache
def known_tools() -> dict[str, ToolSheet]:
    """Every tool that an agent can have, by name, in the order in which models are told of them."""
    text = files("instructions").joinpath("tools.json").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = json.loads(text)
    return {entry["name"]: _read(entry) for entry in entries}


def sheet(tools: Sequence[ToolSheet]) -> str:
    """The file's text."""
    entries = [{name: getattr(tool, name) for name in ToolSheet.__slots__} for tool in tools]
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def _read(entry: dict[str, Any]) -> ToolSheet:
    entry["channels"] = tuple(entry["channels"])
    return ToolSheet(**entry)


def offered_names(profile: Sequence[str], capabilities: Sequence[str] | None) -> list[str]:
    """What an agent is offered of a channel's profile; no capabilities named means all of it. Order is the profile's,
    so that the same set is the same bytes.
    """
    return [name for name in profile if capabilities is None or name in capabilities]
