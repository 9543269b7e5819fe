"""Reads JSON that is still being written, exactly as the AI SDK does for streamed tool input.

A port of `parsePartialJson` and `fixJson` of SDK 7. SDK 6 differs in one case (`[-` is nothing to it, `[]` here),
which only the fleeting state of an unfinished call can show.
"""

import json
import math
from typing import Any, Final

from contracts.json_values import has_forbidden_key


class _Absent:
    """What JavaScript calls `undefined`: no value, where `None` would be JSON's null."""

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final[Any] = _Absent()

_DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdefABCDEF")
_LITERALS = ("false", "true", "null")


def parse_partial(text: str) -> Any:
    """The value that `text` has so far, repaired where it is cut off; `ABSENT` if nothing can be made of it."""
    try:
        return _parse(text)
    except (ValueError, RecursionError):
        pass
    try:
        return _parse(repair(text))
    except (ValueError, RecursionError):
        return ABSENT


def repair(text: str) -> str:
    """`text` up to its last sound character, with open strings, literals, arrays and objects closed."""
    scan = _Scan(text)
    for index, char in enumerate(text):
        scan.step(index, char)
    return scan.closed()


def _parse(text: str) -> Any:
    value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    if ("__proto__" in text or "\\" in text or "constructor" in text) and has_forbidden_key(value):
        raise ValueError("forbidden key")
    return value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None  # what JSON makes of JavaScript's Infinity


class _Scan:
    """One pass over the text: a stack of where we are, and the last index up to which it is sound."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.stack = ["root"]
        self.sound = -1
        self.literal = 0
        self.hex_digits = 0

    def step(self, i: int, char: str) -> None:
        state = self.stack[-1]
        if state == "string":
            self._in_string(i, char)
        elif state == "root":
            self._value(i, char, "finish")
        elif state == "object-start":
            self._object_start(i, char)
        elif state in _OBJECT_STEPS:
            expected, following = _OBJECT_STEPS[state]
            if char == expected:
                self.stack[-1] = following
        elif state == "object-value":
            self._value(i, char, "object-after-value")
        elif state == "object-after-value":
            self._after_object_value(i, char)
        elif state == "array-start":
            if char == "]":
                self._close(i)
            else:
                self._value(i, char, "array-after-value")
        elif state == "array-after-value":
            self._after_array_value(i, char)
            if char not in ",]":
                self.sound = i
        elif state == "array-after-comma":
            self._value(i, char, "array-after-value")
        elif state == "escape":
            self._in_escape(i, char)
        elif state == "unicode":
            self._in_unicode(i, char)
        elif state == "number":
            self._in_number(i, char)
        elif state == "literal":
            self._in_literal(i, char)

    def closed(self) -> str:
        result = [self.text[: self.sound + 1]]
        for state in reversed(self.stack):
            if state == "string":
                result.append('"')
            elif state.startswith("object"):
                result.append("}")
            elif state.startswith("array"):
                result.append("]")
            elif state == "literal":
                begun = self.text[self.literal :]
                result.append(next((word[len(begun) :] for word in _LITERALS if word.startswith(begun)), ""))
        return "".join(result)

    def _value(self, i: int, char: str, following: str) -> None:
        inner = _OPENERS.get(char)
        if inner is None:
            return
        if char != "-":  # a lone minus is no number yet
            self.sound = i
        if inner == "literal":
            self.literal = i
        self.stack[-1] = following
        self.stack.append(inner)

    def _close(self, i: int) -> None:
        self.sound = i
        self.stack.pop()

    def _object_start(self, i: int, char: str) -> None:
        if char == '"':
            self.stack[-1] = "object-key"
        elif char == "}":
            self._close(i)

    def _after_object_value(self, i: int, char: str) -> None:
        if char == ",":
            self.stack[-1] = "object-after-comma"
        elif char == "}":
            self._close(i)

    def _after_array_value(self, i: int, char: str) -> None:
        if char == ",":
            self.stack[-1] = "array-after-comma"
        elif char == "]":
            self._close(i)

    def _in_string(self, i: int, char: str) -> None:
        if char == '"':
            self._close(i)
        elif char == "\\":
            self.stack.append("escape")
        else:
            self.sound = i

    def _in_escape(self, i: int, char: str) -> None:
        self.stack.pop()
        if char == "u":
            self.hex_digits = 0
            self.stack.append("unicode")
        else:
            self.sound = i

    def _in_unicode(self, i: int, char: str) -> None:
        if char in _HEX:
            self.hex_digits += 1
            if self.hex_digits == 4:
                self._close(i)

    def _in_number(self, i: int, char: str) -> None:
        if char in _DIGITS:
            self.sound = i
        elif char not in "eE-.":
            self.stack.pop()
            if char in ",]" and self.stack[-1] == "array-after-value":
                self._after_array_value(i, char)
            elif char in ",}" and self.stack[-1] == "object-after-value":
                self._after_object_value(i, char)

    def _in_literal(self, i: int, char: str) -> None:
        begun = self.text[self.literal : i + 1]
        if any(word.startswith(begun) for word in _LITERALS):
            self.sound = i
            return
        self.stack.pop()
        if self.stack[-1] == "object-after-value":
            self._after_object_value(i, char)
        elif self.stack[-1] == "array-after-value":
            self._after_array_value(i, char)


_OPENERS = {
    '"': "string",
    "{": "object-start",
    "[": "array-start",
    **dict.fromkeys("ftn", "literal"),
    **dict.fromkeys("-0123456789", "number"),
}
_OBJECT_STEPS = {  # state: the character that ends it, the state after
    "object-after-comma": ('"', "object-key"),
    "object-key": ('"', "object-after-key"),
    "object-after-key": (":", "object-value"),
}
