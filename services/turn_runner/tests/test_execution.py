"""One tool call: found, checked, in time, bounded; whatever goes wrong is a result that a model can act on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from blobs import FolderBlobs
from chassis.pools import Pool
from contracts.pieces import Pieces
from tests.kit.tools import context
from turn_runner import execution
from turn_runner.execution import Prepared, Result
from turn_runner.narration import AskedCall
from turn_runner.outputs import Outputs
from turn_runner.tools import TOOLS, Tool, ToolContext, ToolFailed
from turn_runner.tools.tool import Input

NAMES = {"calculator", "current_time"}


@pytest.fixture
async def outputs(tmp_path: Path) -> AsyncIterator[Outputs]:
    """Small ones: nothing here reaches the database (test_outputs.py has the large ones)."""
    threads = Pool("outputs-of-test-execution", size=1, queue_limit=8)
    nowhere: Any = None
    yield Outputs(FolderBlobs(tmp_path, threads), threads, nowhere, nowhere, most_bytes=1024, most_blob_bytes=1 << 20)
    await threads.close()


def asked(arguments: str, name: str = "calculator") -> AskedCall:
    return AskedCall("p", name, pieces=Pieces(arguments))


def tool(run: Callable[[Input, ToolContext], Awaitable[Any]], timeout: float = 10) -> Prepared:
    made = Tool(name="probe", title="Probe", summary="-", description="-", input=Input, run=run, timeout=timeout)
    return Prepared(made, Input())


def test_a_call_that_fits_is_prepared() -> None:
    prepared = execution.prepare(asked('{"expression": "1+1"}'), NAMES)
    assert isinstance(prepared, Prepared)
    assert prepared.tool is TOOLS["calculator"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (asked("{}", "teleport"), "There is no tool 'teleport' here; there is: calculator, current_time."),
        (asked('{"expression": '), "not a JSON object"),
        (asked("[1]"), "not a JSON object"),
        (asked('"1+1"'), "not a JSON object"),
        (asked("null"), "not a JSON object"),
        (asked('{"expression": 18446744073709551616}'), "64 bits"),
        (asked("{}"), "expression: Field required"),
        (asked('{"expression": 5}'), "expression: Input should be a valid string"),
        (asked('{"expression": "1", "precision": 3}'), "precision: Extra inputs are not permitted"),
        (asked('{"expression": ""}'), "at least 1 character"),
        (asked('{"expression": "' + "1" * 501 + '"}'), "at most 500 characters"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.arguments[:20],
)
def test_what_does_not_fit_is_said_in_words_that_a_model_can_act_on(call: AskedCall, said: str) -> None:
    result = execution.prepare(call, NAMES)
    assert isinstance(result, Result)
    assert result.was_malformed
    assert said in (result.error_text or "")
    assert result.for_model.startswith("Error: ")


def test_arguments_beyond_the_limit_are_refused_with_both_sizes() -> None:
    call = asked('{"expression": "' + "1" * 2000 + '"}')
    result = execution.prepare(call, NAMES, most_bytes=1024)
    assert isinstance(result, Result)
    assert result.was_malformed
    assert result.error_text == (
        "The arguments are 2,017 bytes; a tool takes at most 1,024. Send less, or in several calls."
    )


def test_a_tool_that_is_not_offered_is_not_there() -> None:
    result = execution.prepare(asked('{"expression": "1+1"}'), set())
    assert isinstance(result, Result)
    assert "there is: none" in (result.error_text or "")


async def test_a_tool_that_takes_too_long_is_cut_off(outputs: Outputs) -> None:
    ended = asyncio.Event()

    async def slow(_: Input, __: ToolContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    result = await execution.run(tool(slow, timeout=0.01), outputs, context())
    assert result.error_text == "probe did not finish within 0.01 s."
    assert not result.was_malformed
    assert ended.is_set()


async def test_what_a_tool_refuses_is_told_and_what_breaks_is_not_shown(outputs: Outputs) -> None:
    async def refuses(_: Input, __: ToolContext) -> None:
        raise ToolFailed("There is no such thing.")

    async def breaks(_: Input, __: ToolContext) -> None:
        raise KeyError("a secret detail")

    assert (await execution.run(tool(refuses), outputs, context())).error_text == "There is no such thing."
    broken = await execution.run(tool(breaks), outputs, context())
    assert "broke" in (broken.error_text or "")
    assert "secret" not in (broken.error_text or "")


async def test_a_cancelled_tool_is_cancelled_and_no_result(outputs: Outputs) -> None:
    started = asyncio.Event()

    async def waits(_: Input, __: ToolContext) -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(execution.run(tool(waits), outputs, context()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("output", [None, "text", 1, [1, {"a": None}], {"ä": "ö"}], ids=repr)
async def test_small_outputs_pass_unchanged(outputs: Outputs, output: Any) -> None:
    async def gives(_: Input, __: ToolContext) -> Any:
        return output

    result = await execution.run(tool(gives), outputs, context())
    assert result == Result(output=output)
    assert orjson.loads(result.for_model) == output


@pytest.mark.parametrize(
    "output",
    [{1, 2}, {1: 2}, 2**70, float("nan"), "a\x00b", object()],
    ids=["set", "number for a key", "too large", "nan", "nul", "object"],
)
async def test_an_output_that_is_not_json_is_a_fault_of_the_tool_and_no_exception(
    outputs: Outputs, output: Any
) -> None:
    async def gives(_: Input, __: ToolContext) -> Any:
        return output

    result = await execution.run(tool(gives), outputs, context())
    assert "broke" in (result.error_text or "")
