"""Runs one tool call: finds the tool, checks the input, keeps to its time, has its output bounded."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from chassis import faults, logs, metrics
from turn_runner.narration import AskedCall
from turn_runner.outputs import Outputs, Result
from turn_runner.tools import TOOLS, Tool, ToolContext, ToolFailed
from turn_runner.tools.tool import Input

__all__ = ["INPUT_LIMIT", "Prepared", "Result", "prepare", "run"]

log = logs.get(__name__)

INPUT_LIMIT = 1 << 20
"""Bytes of a call's arguments, as JSON."""

_CALLS = metrics.counter("retinue_tool_calls_total", "tool calls by outcome", ("tool", "outcome"))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that may start."""

    tool: Tool[Any]
    input: Input


def prepare(call: AskedCall, names: set[str], *, most_bytes: int = INPUT_LIMIT) -> Prepared | Result:
    """The tool and its checked input, or the result that tells the model what was wrong."""
    if call.name not in names:
        known = ", ".join(sorted(names)) or "none"
        return Result(error_text=f"There is no tool {call.name!r} here; there is: {known}.", was_malformed=True)
    tool = TOOLS[call.name]
    given = call.input
    if (size := len(orjson.dumps(given))) > most_bytes:
        return Result(
            error_text=f"The arguments are {size:,} bytes; a tool takes at most {most_bytes:,}. "
            "Send less, or in several calls.",
            was_malformed=True,
        )
    if not isinstance(given, dict):
        return Result(
            error_text="The arguments are not a JSON object, or hold what JSON cannot carry everywhere (NaN, a NUL, "
            "integers beyond 64 bits). Send one that fits the schema.",
            was_malformed=True,
        )
    try:
        return Prepared(tool, tool.input.model_validate(given))
    except ValidationError as wrong:
        return Result(error_text=_explained(wrong), was_malformed=True)


async def run(prepared: Prepared, outputs: Outputs, context: ToolContext) -> Result:
    """Never raises but for cancellation: whatever goes wrong is a result."""
    tool = prepared.tool
    try:
        async with asyncio.timeout(tool.timeout):
            output = await tool.run(prepared.input, context)
        faults.reached("during_tool")
        result = await outputs.bounded(tool.name, output)
    except ToolFailed as failed:
        _CALLS.labels(tool=tool.name, outcome="failed").inc()
        return Result(error_text=str(failed))
    except TimeoutError:
        _CALLS.labels(tool=tool.name, outcome="timeout").inc()
        return Result(error_text=f"{tool.name} did not finish within {tool.timeout:g} s.")
    except Exception:
        log.exception("tool broke", tool=tool.name)
        _CALLS.labels(tool=tool.name, outcome="broke").inc()
        return Result(error_text=f"{tool.name} broke; this is a fault of the system, not of the input.")
    _CALLS.labels(tool=tool.name, outcome="done").inc()
    return result


def _explained(wrong: ValidationError) -> str:
    faults = "; ".join(
        f"{'.'.join(str(place) for place in error['loc']) or 'input'}: {error['msg']}"
        for error in wrong.errors(include_url=False, include_context=False, include_input=False)[:5]
    )
    return f"The arguments do not fit the schema ({faults}). Correct them and call again."
