"""Loops that run in circles, and arguments that never come right."""

from __future__ import annotations

from contracts.pieces import Pieces
from turn_runner.execution import Result
from turn_runner.guards import END_AFTER, REPAIRS, WARN_AFTER, WARNING, Guard
from turn_runner.narration import AskedCall


def call(arguments: str = "{}", name: str = "calculator") -> AskedCall:
    return AskedCall("p", name, pieces=Pieces(arguments))


SAME = (call(), Result(output=1))
MALFORMED = Result(error_text="no", was_malformed=True)


def test_the_same_call_warns_at_three_and_ends_at_five() -> None:
    guard = Guard()
    seen = [guard.look([SAME]) for _ in range(END_AFTER)]
    assert [verdict for verdict, _ in seen] == ["go on"] * (END_AFTER - 1) + ["answer now"]
    assert [WARNING in texts[0] for _, texts in seen] == [n == WARN_AFTER for n in range(1, END_AFTER + 1)]


def test_side_by_side_calls_count_in_their_order() -> None:
    guard = Guard()
    verdict, texts = guard.look([SAME] * WARN_AFTER)
    assert verdict == "go on"
    assert [WARNING in text for text in texts] == [False, False, True]
    assert guard.look([SAME] * 2)[0] == "answer now"


def test_another_input_result_or_tool_begins_anew() -> None:
    for other in (
        (call('{"a": 1}'), Result(output=1)),
        (call(), Result(output=2)),
        (call(name="current_time"), Result(output=1)),
        (call(), Result(error_text="1")),
    ):
        guard = Guard()
        for _ in range(3):
            assert guard.look([SAME, SAME, other])[0] == "go on"


def test_malformed_arguments_are_given_back_twice() -> None:
    guard = Guard()
    verdicts = [guard.look([(call(str(n)), MALFORMED)])[0] for n in range(REPAIRS + 1)]
    assert verdicts == ["go on"] * REPAIRS + ["answer now"]


def test_a_call_that_comes_right_may_go_wrong_again_and_tools_count_apart() -> None:
    guard = Guard()
    for n in range(4):
        assert guard.look([(call(f"{n}"), MALFORMED), (call(f"{n}", "other"), Result(output=n))])[0] == "go on"
        assert guard.look([(call(f"good {n}"), Result(output=n))])[0] == "go on"
    assert guard.look([(call("x", "third"), MALFORMED), (call("y", "fourth"), MALFORMED)])[0] == "go on"


def test_each_result_has_its_text_in_order() -> None:
    _, texts = Guard().look([(call("1"), Result(output={"b": 1, "a": "ä"})), (call("2"), Result(error_text="bad"))])
    assert texts == ['{"b":1,"a":"ä"}', "Error: bad"]
