"""Runs one tool call: finds the tool, checks the input, keeps to its time, bounds its output."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from chassis import faults, logs, metrics
from contracts.json_values import fault_of
from turn_runner.narration import AskedCall
from turn_runner.tools import TOOLS, Tool, ToolFailed
from turn_runner.tools.tool import Input

log = logs.get(__name__)

_FRAME_BYTES = 100
"""What says that a result was truncated, and how much is missing."""

_CALLS = metrics.counter("retinue_tool_calls_total", "tool calls by outcome", ("tool", "outcome"))


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call: an output, or the text of an error that the model can act on."""

    output: Any = None
    error_text: str | None = None
    was_malformed: bool = False

    @property
    def for_model(self) -> str:
        if self.error_text is not None:
            return f"Error: {self.error_text}"
        return orjson.dumps(self.output).decode()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that may start."""

    tool: Tool[Any]
    input: Input


def prepare(call: AskedCall, names: set[str]) -> Prepared | Result:
    """The tool and its checked input, or the result that tells the model what was wrong."""
    if call.name not in names:
        known = ", ".join(sorted(names)) or "none"
        return Result(error_text=f"There is no tool {call.name!r} here; there is: {known}.", was_malformed=True)
    tool = TOOLS[call.name]
    given = call.input
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


async def run(prepared: Prepared, *, most_bytes: int) -> Result:
    """Never raises but for cancellation: whatever goes wrong is a result."""
    tool = prepared.tool
    try:
        async with asyncio.timeout(tool.timeout):
            output = await tool.run(prepared.input)
        faults.reached("during_tool")
        result = _bounded(output, most_bytes)
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


def _bounded(output: Any, most_bytes: int) -> Result:
    """The output, or its beginning as text; ValueError if it is nothing that could be kept and sent."""
    if (fault := fault_of(output)) is not None:
        raise ValueError(f"a tool's output holds {fault}")
    encoded = orjson.dumps(output)
    if len(encoded) <= most_bytes:
        return Result(output=output)
    room = most_bytes - _FRAME_BYTES
    kept = encoded[:room].decode(errors="ignore")
    while (size := len(orjson.dumps(kept))) > room:  # quotes count twice inside a text
        kept = kept[: len(kept) * room // size]
    left_out = len(encoded) - len(kept.encode())
    return Result(output={"truncated": kept, "left_out_bytes": left_out, "limit_bytes": most_bytes})


def _explained(wrong: ValidationError) -> str:
    faults = "; ".join(
        f"{'.'.join(str(place) for place in error['loc']) or 'input'}: {error['msg']}"
        for error in wrong.errors(include_url=False, include_context=False, include_input=False)[:5]
    )
    return f"The arguments do not fit the schema ({faults}). Correct them and call again."
