"""Agents to begin with: data in `starters.toml`, offered, and copied when a person takes one."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, Field

from instructions import known_tools


class Starter(BaseModel):
    key: str
    name: str
    role: str
    standing_orders: str
    capabilities: list[str] = Field(description="Names of tools.")
    glyph: str = Field(description="The seed of its picture.")


@cache
def starters() -> tuple[Starter, ...]:
    """Every starter, with the tools that there are."""
    text = files("gateway").joinpath("starters.toml").read_text(encoding="utf-8")
    return tuple(_starter(entry) for entry in tomllib.loads(text)["starter"])


def _starter(entry: dict[str, Any]) -> Starter:
    tools = [name for name in entry["capabilities"] if name in known_tools()]
    return Starter(**{**entry, "capabilities": tools, "standing_orders": entry["standing_orders"].strip()})
