"""What a model says as a title, and what is taken of it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from llm import System, User
from turn_runner.titles import FirstExchange, asked_for, title_in


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Taxes for three cats", "Taxes for three cats"),
        ('  "Taxes for three cats."\n', "Taxes for three cats"),
        ("**Katzensteuer**", "Katzensteuer"),
        ("# Katzensteuer\n\nMore words", "Katzensteuer"),
        ("\n\n„Drei Katzen“\n", "Drei Katzen"),
        ("What   about\tC++?", "What about C++?"),
        ("", ""),
        ("\n  \n", ""),
        ('""', ""),
        ("a\x00b", "a\ufffdb"),
        ("word " * 40, "word " * 15 + "word…"),
        ("x" * 200, "x" * 80 + "…"),
    ],
)
def test_a_title_is_one_line_without_what_models_put_around_it(said: str, title: str) -> None:
    assert title_in(said) == title


def test_the_model_sees_the_beginning_of_question_and_answer_only() -> None:
    exchange = FirstExchange(uuid4(), uuid4(), uuid4(), "Q", "Q" * 9000, "A" * 9000, "openai/x")
    callee: Any = type("Callee", (), {"effort": "low"})()
    request = asked_for(exchange, callee)
    instructions, told = request.messages
    assert isinstance(instructions, System)
    assert isinstance(told, User)
    assert (told.text.count("Q"), told.text.count("A")) == (2000, 2000)
    assert (request.effort, request.tools) == ("low", ())
    assert request.max_tokens is not None
