"""Values that some reader on the way could not take are found, and no others."""

import json
from typing import Any

import pytest

from contracts.json_values import DEPTH_LIMIT, clean_text, fault_of


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -(2**63), 2**64 - 1, 1.5, "", "Grüße 🙂\u2028", [], {"a": [{"b": None}]}, nested(DEPTH_LIMIT)],
)
def test_what_everybody_can_read(value: Any):
    assert fault_of(value) is None


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("a\x00", "NUL"),
        (["\ud83d"], "surrogate"),
        ({"\ude42": 1}, "key"),
        ({1: 2}, "key"),
        (2**64, "64 bits"),
        (float("nan"), "not JSON"),
        ([float("-inf")], "not JSON"),
        ({"a": {"__proto__": 1}}, "__proto__"),
        ({"constructor": {"prototype": {}}}, "prototype"),
        ({"a": b"x"}, "bytes"),
        (nested(DEPTH_LIMIT + 1), "nested"),
        (nested(100_000), "nested"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalnum() else "",
)
def test_what_somebody_could_not(value: Any, why: str):
    assert why in (fault_of(value) or "")


def test_keys_that_only_look_like_it_are_fine():
    assert fault_of({"constructor": "a name", "prototype": 1, "proto": {}}) is None


def test_text_is_cleaned_and_otherwise_left_alone():
    assert clean_text("a\x00b\ud83d!") == "a\ufffdb\ufffd!"
    whole = json.loads('"Grüße \\ud83d\\ude42"')
    assert clean_text(whole) == whole == "Grüße 🙂"
