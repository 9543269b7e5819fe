"""The register of tools, and which of them a channel is offered. One tool, one file."""

from __future__ import annotations

from typing import Any

from chassis import faults
from turn_runner.tools import calculator, current_time, leave_mark, web_fetch, web_search
from turn_runner.tools.tool import Tool, ToolContext, ToolFailed

__all__ = ["PROFILES", "TOOLS", "Tool", "ToolContext", "ToolFailed", "offered"]

TOOLS: dict[str, Tool[Any]] = {
    tool.name: tool
    for tool in (calculator.TOOL, current_time.TOOL, web_fetch.TOOL, web_search.TOOL, leave_mark.TOOL)
}

PROFILES: dict[str, tuple[str, ...]] = {
    "web": ("calculator", "current_time", "web_fetch"),
    "api": ("calculator", "current_time", "web_fetch"),
}
"""Channel -> names of tools; a channel that is not here has none."""


def offered(channel: str) -> list[Tool[Any]]:
    names = PROFILES.get(channel, ())
    if names and faults.folder() is not None:
        names += (leave_mark.TOOL.name,)  # only under a crash test
    return [TOOLS[name] for name in names]
