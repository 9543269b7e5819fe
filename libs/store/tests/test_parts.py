"""A message's parts and their rows: what goes in comes out, and a call's state is its row's."""

from __future__ import annotations

from typing import Any

import pytest

from contracts import chunks
from contracts.reducer import Reducer
from store.turns.parts import fixed_of, is_tool, tool_part


def row(state: str, output: Any = None, error: str | None = None, input: Any = None) -> dict[str, Any]:
    return {"state": state, "input": {"a": 1} if input is None else input, "output": output, "error_text": error}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "tool-calculator"}, True),
        ({"type": "dynamic-tool"}, True),
        ({"type": "text"}, False),
        ({"type": "step-start"}, False),
        ({"type": "data-tool-x"}, False),
    ],
)
def test_what_is_a_tool_part(part: dict[str, Any], expected: bool) -> None:
    assert is_tool(part) is expected


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ([], row("asked")),
        ([], row("started")),
        ([chunks.tool_output_available("c", {"x": [1, None]}, ours=True)], row("done", {"x": [1, None]})),
        ([chunks.tool_output_available("c", None, ours=True)], row("done")),
        ([chunks.tool_output_error("c", "broke", ours=True)], row("done", None, "broke")),
    ],
    ids=["asked", "started", "output", "no output", "error"],
)
def test_a_part_made_of_its_row_is_the_part_that_clients_built(said: list[Any], call: dict[str, Any]) -> None:
    reducer = Reducer("m")
    reducer.apply(chunks.start_step())
    reducer.apply(chunks.tool_input_start("c", "calculator", ours=True))
    reducer.apply(chunks.tool_input_available("c", "calculator", {"a": 1}, ours=True))
    asked = reducer.parts[-1]
    for chunk in said:
        reducer.apply(chunk)
    built = reducer.parts[-1]
    assert tool_part(fixed_of(asked), call) == built


def test_what_never_changes_holds_nothing_that_does() -> None:
    part = {
        "type": "tool-x",
        "toolCallId": "c",
        "state": "output-available",
        "input": 1,
        "output": 2,
        "errorText": "",
        "providerExecuted": True,
        "title": "X",
    }
    assert fixed_of(part) == {"type": "tool-x", "toolCallId": "c", "providerExecuted": True, "title": "X"}
