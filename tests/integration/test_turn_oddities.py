"""Models that say what no model should: the turn ends, visibly, and what was streamed is what is kept."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.subjects import MAX_PAYLOAD
from tests.kit.model import ScriptedModel
from tests.kit.runner import Door, Told


async def answered(door: Door, model: ScriptedModel, *replies: dict[str, Any]) -> tuple[Told, dict[str, Any]]:
    """One message, to which the model replies so; the log, and the stored answer."""
    model.script({"rules": [{"user": "odd", "replies": list(replies)}]})
    try:
        thread_id = await door.thread()
        accepted = await door.say(thread_id, "odd")
        told = await door.hear(accepted.turn_id)
    finally:
        model.unscript()
    (_, stored) = await door.stored(thread_id)
    return told, stored


def called(arguments: Any, name: str = "calculator") -> dict[str, Any]:
    return {"tools": [{"name": name, "arguments": arguments}]}


def status(message: dict[str, Any]) -> tuple[str, str]:
    return message["metadata"]["retinue"]["status"], message["metadata"]["retinue"]["ended_by"]


def texts(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


async def test_a_nul_in_the_answer_is_replaced(door: Door, model: ScriptedModel) -> None:
    told, stored = await answered(door, model, {"text": "a\x00b \x00"})
    assert status(stored) == ("finished", "reply")
    assert told.message == stored
    assert texts(stored) == "a\ufffdb \ufffd"


@pytest.mark.parametrize(
    "arguments",
    [
        '{"expression": 123456789012345678901234567890}',
        '{"expression": 1e999}',
        '{"expression": NaN}',
        '{"expression": "\\u0000"}',
        '{"expression": "\\ud83d"}',
        '{"__proto__": {"expression": "1"}}',
        '{"expression": ' + "[" * 300 + "]" * 300 + "}",
        "[" * 50_000,
        "\x00",
        '{"expression": "1+1"}' * 2,
        "null",
    ],
    ids=lambda text: text[:30],
)
async def test_odd_arguments_are_a_result_that_the_model_can_act_on(
    door: Door, model: ScriptedModel, arguments: str
) -> None:
    told, stored = await answered(door, model, called(arguments), {"text": "I see."})
    assert status(stored) == ("finished", "reply"), stored["metadata"]
    assert told.message == stored
    (call,) = [part for part in stored["parts"] if part["type"] == "tool-calculator"]
    assert call["state"] == "output-error"


async def test_an_odd_name_is_no_tool(door: Door, model: ScriptedModel) -> None:
    told, stored = await answered(door, model, called("{}", "a\x00b"), called("{}", "x" * 5000), {"text": "I see."})
    assert status(stored) == ("finished", "reply")
    assert told.message == stored


async def test_many_calls_at_once_all_get_their_results(door: Door, model: ScriptedModel) -> None:
    calls = [{"name": "calculator", "arguments": {"expression": f"{n}+{n}"}} for n in range(40)]
    told, stored = await answered(door, model, {"tools": calls}, {"text": "Done."})
    assert status(stored) == ("finished", "reply")
    assert told.message == stored
    assert [part["output"]["result"] for part in stored["parts"] if "output" in part] == [2 * n for n in range(40)]


async def test_a_piece_that_no_broker_takes_fails_in_words(door: Door, model: ScriptedModel) -> None:
    told, stored = await answered(door, model, {"text": "x" * (MAX_PAYLOAD - 40_000)})
    assert status(stored) == ("failed", "too_large")
    assert told.message == stored
    assert "too large" in stored["metadata"]["retinue"]["error"]["message"]


async def test_what_was_said_before_a_piece_that_is_too_large_is_kept(door: Door, model: ScriptedModel) -> None:
    told, stored = await answered(
        door,
        model,
        called({"expression": "6*7"}),
        {"text": "before " + "x" * (MAX_PAYLOAD - 40_000), "rate": 1000},
    )
    assert status(stored) == ("failed", "too_large")
    assert told.message == stored
    assert stored["parts"][1]["output"]["result"] == 42


async def test_arguments_that_no_broker_takes_in_one_piece_fail_in_words(door: Door, model: ScriptedModel) -> None:
    told, stored = await answered(door, model, called('{"expression": "' + "1" * MAX_PAYLOAD + '"}'))
    assert status(stored) == ("failed", "too_large")
    assert told.message == stored
