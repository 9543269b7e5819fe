"""Arguments that are wrong in form only are mended without asking the model again; all else stays as it was written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turn_runner.repair import arguments_in

OBJECT = {"expression": "1+1", "more": [1, {"a": None}]}
TEXT = json.dumps(OBJECT)


@pytest.mark.parametrize(
    "written",
    [
        TEXT,
        f"  {TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```",
        f"```JSON {TEXT}```".replace("JSON ", "json\n"),
        f"```{TEXT}```",
        json.dumps(TEXT),
        json.dumps(json.dumps(TEXT)),
        f"```json\n{json.dumps(TEXT)}\n```",
        json.dumps(f"```json\n{TEXT}\n```"),
    ],
)
def test_fences_and_double_encoding_are_taken_off(written: str) -> None:
    assert arguments_in(written) == OBJECT


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("", {}),
        ("[1]", [1]),
        ('"1+1"', "1+1"),
        ('"[1, 2]"', "[1, 2]"),
        ("null", None),
        ("```json\nnot JSON\n```", "```json\nnot JSON\n```"),
        ('```json\n{"a": 1}\n``` and more', '```json\n{"a": 1}\n``` and more'),
        ('{"a": ', '{"a":'),
        ('"{\\"a\\": NaN}"', '{"a": NaN}'),
    ],
)
def test_what_cannot_be_mended_stays_for_the_error_that_the_model_gets(written: str, value: Any) -> None:
    assert arguments_in(written) == value


def test_a_string_within_an_object_is_left_alone() -> None:
    assert arguments_in(json.dumps({"code": TEXT})) == {"code": TEXT}
