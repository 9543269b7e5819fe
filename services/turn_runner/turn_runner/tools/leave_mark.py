"""A side effect that can be counted: offered under a crash test only (RETINUE_FAULTS), and never again after a kill."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

from pydantic import Field

from chassis import faults
from turn_runner.tools.tool import Input, Tool, ToolContext, ToolFailed

MARKS = "marks"
"""The file in the folder of faults; a line of JSON for each effect: name, pid, at (seconds of the epoch)."""


class LeaveMarkInput(Input):
    name: str = Field(min_length=1, max_length=100)
    seconds: float = Field(0.0, ge=0, le=5, description="how long it takes after the mark was left")


async def leave_mark(wanted: LeaveMarkInput, _: ToolContext) -> dict[str, Any]:
    folder = faults.folder()
    if folder is None:
        raise ToolFailed("There is no crash test to leave a mark for.")
    _write(folder / MARKS, wanted.name)
    await asyncio.sleep(wanted.seconds)
    return {"left": wanted.name}


def _write(path: Path, name: str) -> None:
    """One write, so that lines of several processes do not mix."""
    line = json.dumps({"name": name, "pid": os.getpid(), "at": time.time()}) + "\n"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


TOOL = Tool(
    name="leave_mark",
    title="Leave a mark",
    summary="A side effect for crash tests.",
    description="Leaves a mark that a crash test counts. It is not idempotent: every call leaves another.",
    input=LeaveMarkInput,
    run=leave_mark,
    tier="write",
    is_idempotent=False,
)
