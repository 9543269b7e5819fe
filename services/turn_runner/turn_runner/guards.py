"""Keeps a loop from running in circles: repeated calls, and arguments that never come right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import orjson

from turn_runner import foreign
from turn_runner.execution import Result
from turn_runner.narration import AskedCall

WARN_AFTER, END_AFTER = 3, 5
"""The same tool with the same input and the same result, in a row."""

REPAIRS = 2
"""How often a tool's malformed arguments are given back to the model."""

WARNING = (
    " [You have made this very call three times with the same result. Doing it again will not change it: "
    "use the result, try something else, or answer.]"
)

Verdict = Literal["go on", "answer now"]


@dataclass(slots=True)
class Guard:
    _last: tuple[str, bytes, str] | None = None
    _repeats: int = 0
    _malformed: dict[str, int] = field(default_factory=dict[str, int])

    def look(self, done: Sequence[tuple[AskedCall, Result]]) -> tuple[Verdict, list[str]]:
        """Whether the loop may go on, and the text of each result for the model, in order."""
        verdict: Verdict = "go on"
        texts: list[str] = []
        for call, result in done:
            text = result.for_model if result.error_text is not None else foreign.told(call.name, result.for_model)
            seen = (call.name, orjson.dumps(call.input, option=orjson.OPT_SORT_KEYS), text)
            self._repeats = self._repeats + 1 if seen == self._last else 1
            self._last = seen
            if self._repeats >= END_AFTER:
                verdict = "answer now"
            elif self._repeats == WARN_AFTER:
                text += WARNING
            if self._never_comes_right(call, result):
                verdict = "answer now"
            texts.append(text)
        return verdict, texts

    def _never_comes_right(self, call: AskedCall, result: Result) -> bool:
        if not result.was_malformed:
            self._malformed.pop(call.name, None)
            return False
        self._malformed[call.name] = self._malformed.get(call.name, 0) + 1
        return self._malformed[call.name] > REPAIRS
