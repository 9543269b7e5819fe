"""Half-written JSON; the port as a whole is held against the SDK in tests/contract."""

import json

import pytest

from contracts.partial_json import ABSENT, parse_partial


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", ABSENT),
        ("{", {}),
        ('{"a', {}),
        ('{"a":', {}),
        ('{"a":"x', {"a": "x"}),
        ('{"a":"x\\', {"a": "x"}),
        ('{"a":"\\u00e', {"a": ""}),
        ('{"a":-', {}),
        ('{"a":12.', {"a": 12}),
        ('{"a":12,"b":[1,', {"a": 12, "b": [1]}),
        ('{"a":tr', {"a": True}),
        ("[nul", [None]),
        ("[-", []),
        ("nothing", ABSENT),
        ("NaN", ABSENT),
        ("1e999", None),
        ('{"__proto__":{}}', ABSENT),
    ],
)
def test_what_half_a_text_is_worth(text: str, value: object):
    assert parse_partial(text) == value


def test_every_beginning_of_an_object_is_an_object():
    whole = json.dumps({"path": "a\\b\u1234", "lines": [1, 2.5, {"x": None}], "deep": {"ok": True, "no": False}})
    for length in range(1, len(whole) + 1):
        assert isinstance(parse_partial(whole[:length]), dict)
    assert parse_partial(whole) == json.loads(whole)


def test_nesting_without_end_is_no_crash():
    assert parse_partial("[" * 100_000) is ABSENT
