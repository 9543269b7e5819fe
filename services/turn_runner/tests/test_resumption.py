"""Going on where another stopped: which calls run again, and that the model is told the very same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from contracts.pieces import Pieces
from llm import Assistant, Message, Reasoning, System, User
from store.repositories.transcripts import PastCall, PastMessage, PastPart
from store.turns.endings import UNKNOWN
from turn_runner.course import EMPTY_ANSWER_NUDGE, Course
from turn_runner.execution import Prepared, Result, prepare
from turn_runner.guards import END_AFTER, WARN_AFTER, WARNING
from turn_runner.narration import AskedCall
from turn_runner.resumption import LeftCall, Resumption, left_steps
from turn_runner.tools import TOOLS

NAMES = {"calculator", "current_time"}


def row(
    state: str = "done",
    *,
    name: str = "calculator",
    input: Any = None,
    output: Any = None,
    error: str | None = None,
    idempotent: bool = True,
) -> PastCall:
    given = {"expression": "1+1"} if input is None else input
    return PastCall(uuid4(), "provider-1", name, state, given, output, error, idempotent)


def message(*parts: PastPart) -> PastMessage:
    return PastMessage(uuid4(), "assistant", list(parts))


def begun(step: int = 0) -> PastPart:
    return PastPart(step, "step-start", {"type": "step-start"})


def text(words: str, step: int = 0) -> PastPart:
    return PastPart(step, "text", {"type": "text", "text": words})


def tool(call: PastCall, step: int = 0) -> PastPart:
    return PastPart(step, "tool", {"type": f"tool-{call.name}"}, call)


def left(written: PastMessage, answers: int | None = None, outcome: str | None = "stop") -> Resumption:
    steps = left_steps(written)
    return Resumption([], steps, len(steps) if answers is None else answers, outcome)


@pytest.mark.parametrize(
    ("call", "fate"),
    [
        (row("done", output=2), "known"),
        (row("done", error="broke", idempotent=False), "known"),
        (row("asked"), "run"),
        (row("asked", idempotent=False), "run"),
        (row("started"), "run"),
        (row("started", idempotent=False), "unknown"),
        (row("started", name="leave_mark"), "unknown"),
        (row("started", name="gone since"), "unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.name} {value.state}",
)
def test_what_becomes_of_a_call(call: PastCall, fate: str) -> None:
    """A tool that is declared otherwise by now counts as what is worse."""
    assert not TOOLS["leave_mark"].is_idempotent
    assert LeftCall.of(call).fate == fate


def test_a_result_is_what_was_stored_and_an_unknown_one_says_so() -> None:
    assert LeftCall.of(row(output={"result": 2})).result(was_malformed=False) == Result({"result": 2})
    assert LeftCall.of(row(error="no")).result(was_malformed=True) == Result(None, "no", True)
    started = LeftCall.of(row("started", idempotent=False))
    assert started.result(was_malformed=False) == Result(error_text=UNKNOWN)


def test_a_call_that_runs_again_runs_with_its_own_input_and_id() -> None:
    stored = row("asked", input={"expression": "6*7"})
    call = LeftCall.of(stored)
    assert (call.id, call.provider_call_id) == (stored.id, "provider-1")
    prepared = prepare(call, NAMES)
    assert isinstance(prepared, Prepared)
    assert prepared.input.model_dump() == {"expression": "6*7"}


@pytest.mark.parametrize("text", ['{"expression": ', '"{}"', "[1]", "42"])
def test_arguments_that_were_malformed_are_malformed_again(text: str) -> None:
    asked = AskedCall("p", "calculator", pieces=Pieces(text))
    again = LeftCall.of(row("asked", input=asked.input))
    assert again.input == asked.input
    assert prepare(again, NAMES) == prepare(asked, NAMES)
    assert isinstance(prepare(again, NAMES), Result)


def test_steps_are_taken_apart_as_they_were_made() -> None:
    first, second = row(output=1), row("asked")
    made = left_steps(
        message(
            begun(), PastPart(0, "reasoning", {"type": "reasoning", "text": "hm"}), text("a"), text("b"), tool(first),
            begun(1), tool(second, 1),
        )
    )  # fmt: skip
    assert [(step.text, [call.id for call in step.calls]) for step in made] == [("ab", [first.id]), ("", [second.id])]
    assert [call.id for call in Resumption([], made, 2, None).open_calls] == [second.id]


def test_where_a_turn_goes_on() -> None:
    nothing = left(message())
    assert (nothing.is_answered, nothing.is_silent) == (False, False)
    asked = left(message(begun(), text("Let me see."), tool(row())))
    assert (asked.is_answered, asked.is_silent) == (False, False)
    answered = left(message(begun(), tool(row()), begun(1), text("42", 1)))
    assert (answered.is_answered, answered.is_silent) == (True, False)


def test_an_answer_without_words_is_asked_for_once_more_and_not_taken_for_the_end() -> None:
    thoughtful = left(message(begun(), PastPart(0, "reasoning", {"type": "reasoning", "text": "hm"})))
    assert (thoughtful.is_answered, thoughtful.is_silent) == (False, True)
    mute = left(message(), answers=1)
    assert (mute.is_answered, mute.is_silent) == (False, True)
    mute_after_a_tool = left(message(begun(), tool(row())), answers=2)
    assert (mute_after_a_tool.is_answered, mute_after_a_tool.is_silent) == (False, True)


# What the model is told


def course() -> Course:
    opening: list[Message] = [System("be brief"), User("?")]
    return Course(opening)


def test_a_model_is_told_the_same_whoever_made_the_steps() -> None:
    """However the model wrote its arguments: with spaces, in any order, or not as JSON at all."""
    ours, theirs = course(), course()
    rounds = [
        ('{ "expression" :  "1+1" }', Result({"result": 2})),
        ('{"expression": "1+1"}', Result({"result": 2})),
        ('{"expression":"1+1"}', Result({"result": 2})),
        ('{"expression": ', Result(error_text="not JSON", was_malformed=True)),
    ]
    for arguments, result in rounds:
        asked = AskedCall("provider-1", "calculator", pieces=Pieces(arguments))
        ours.exchanged("So:", [asked], [result])
        stored = row(input=asked.input, output=result.output, error=result.error_text)
        again = LeftCall.of(stored)
        theirs.exchanged("So:", [again], [again.result(was_malformed=result.was_malformed)])
    assert ours.messages == theirs.messages
    assert WARNING in str(ours.messages[2 + 2 * WARN_AFTER - 1])
    assert isinstance(ours.messages[-2], Assistant)


def test_a_loop_that_ran_in_circles_before_a_takeover_is_not_allowed_as_many_again() -> None:
    resumed = course()
    for _ in range(END_AFTER - 1):
        call = LeftCall.of(row(output=2))
        resumed.exchanged("", [call], [call.result(was_malformed=False)])
    assert not resumed.answer_now
    asked = AskedCall("p", "calculator", pieces=Pieces('{"expression": "1+1"}'))
    resumed.exchanged("", [asked], [Result(2)])
    assert resumed.answer_now
    assert resumed.is_in_circles


def test_a_nudge_is_an_end_of_tools_but_no_circle() -> None:
    asked = course()
    asked.nudge()
    assert asked.messages[-1] == User(EMPTY_ANSWER_NUDGE)
    assert asked.answer_now
    assert not asked.is_in_circles


def test_reasoning_goes_back_after_a_takeover_as_it_would_have_without_one() -> None:
    kept = {"retinue": {"part": "1.0.1.1", "reasoning": {"provider": "wire", "data": {"signature": "s"}}}}
    sealed = PastPart(0, "reasoning", {"type": "reasoning", "text": "Hm", "providerMetadata": kept})
    plain = PastPart(0, "reasoning", {"type": "reasoning", "text": "?", "providerMetadata": {"retinue": {"part": "x"}}})
    (step,) = left_steps(message(begun(), sealed, plain, text("Let me see."), tool(row(output=2))))
    assert step.reasoning == [Reasoning("Hm", "wire", {"signature": "s"})]
    asked = AskedCall("provider-1", "calculator", pieces=Pieces('{"expression":"1+1"}'))
    again, without = Course([]), Course([])
    again.exchanged(step.text, step.calls, [Result(2)], step.reasoning)
    without.exchanged("Let me see.", [asked], [Result(2)], [Reasoning("Hm", "wire", {"signature": "s"})])
    assert again.messages == without.messages


def test_what_a_provider_searched_for_is_no_call_that_is_open_or_run() -> None:
    search = replace(row(name="web_search", output={"searched_by": "provider"}), is_hosted=True)
    found = left(message(begun(), tool(search), text("It rains.")))
    assert found.steps[0].calls == []
    assert found.is_answered
    assert found.open_calls == []
