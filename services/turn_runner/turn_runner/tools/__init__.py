"""The register of tools, and which of them a channel is offered. One tool, one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chassis import faults
from instructions import offered_names
from turn_runner.tools import calculator, current_time, leave_mark, web_fetch, web_search
from turn_runner.tools.tool import Tool, ToolContext, ToolFailed

__all__ = ["PROFILES", "TOOLS", "Tool", "ToolContext", "ToolFailed", "offered"]

TOOLS: dict[str, Tool[Any]] = {
    tool.name: tool for tool in (calculator.TOOL, current_time.TOOL, web_fetch.TOOL, web_search.TOOL, leave_mark.TOOL)
}

PROFILES: dict[str, tuple[str, ...]] = {
    "web": ("calculator", "current_time", "web_search", "web_fetch"),
    "api": ("calculator", "current_time", "web_search", "web_fetch"),
}
"""Channel -> names of tools; a channel that is not here has none."""


def offered(channel: str, capabilities: Sequence[str] | None = None) -> list[Tool[Any]]:
    """The tools of a channel that an agent has, in the order of the profile; without capabilities all of them."""
    profile = PROFILES.get(channel, ())
    names = offered_names(profile, capabilities)
    if profile and faults.folder() is not None:
        names.append(leave_mark.TOOL.name)  # only under a crash test
    return [TOOLS[name] for name in names]
