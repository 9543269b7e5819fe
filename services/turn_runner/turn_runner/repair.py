"""Arguments of a tool call, as data: mends what models get wrong in form, without asking them again.

A fence of code around the JSON is taken off, and an object that was encoded twice is unwrapped. Everything else stays
as it was written, for the error that the model gets.
"""

from __future__ import annotations

import json
import re
from typing import Any

from contracts.json_values import fault_of

_FENCE = re.compile(r"^```[\w+-]*[ \t]*\n?(.*?)\n?```$", re.DOTALL)
_MOST_WRAPS = 3


def arguments_in(text: str) -> Any:
    """The arguments as JSON data; the raw text if they are none, or none that can be kept and sent as they are."""
    text = text.strip()
    if not text:
        return {}
    try:
        value = _unwrapped(text)
    except (ValueError, RecursionError):
        return text
    return value if fault_of(value) is None else text


def _unwrapped(text: str) -> Any:
    value = _parsed(text)
    inner = value
    for _ in range(_MOST_WRAPS):
        if not isinstance(inner, str):
            break
        try:
            inner = _parsed(inner.strip())
        except (ValueError, RecursionError):
            break
    return inner if isinstance(inner, dict) else value


def _parsed(text: str) -> Any:
    fenced = _FENCE.match(text)
    return json.loads(fenced[1].strip() if fenced else text, parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
