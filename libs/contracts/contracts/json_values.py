"""Values that come from models and tools, before they go on their way: what would break one of those who read them.

JSON is less portable than it looks: Postgres refuses a NUL, encoders refuse half a surrogate pair, AI SDK clients
refuse certain keys and end their whole response over it. So such a value is found where it comes in.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

DEPTH_LIMIT: Final = 100
"""Levels of nesting; encoders give up at about 250, decoders at about 1000."""

_UNFIT: Final = re.compile("[\x00\ud800-\udfff]")


def fault_of(value: Any) -> str | None:
    """Why this value could not be stored, sent and read by everybody, in a few words; `None` if it can. O(size)."""
    return _fault(value, DEPTH_LIMIT)


def clean_text(text: str) -> str:
    """The text with NULs and halves of surrogate pairs replaced by U+FFFD."""
    return text if text.isascii() and "\x00" not in text else _UNFIT.sub("\ufffd", text)


def has_forbidden_key(value: Any) -> bool:
    """Whether AI SDK clients would refuse this: they take no `__proto__` and no `constructor.prototype` keys."""
    if isinstance(value, Mapping):
        known: Mapping[str, Any] = value  # type: ignore[assignment]
        return _is_forbidden(known) or any(map(has_forbidden_key, known.values()))
    if isinstance(value, list | tuple):
        return any(map(has_forbidden_key, list[Any](value)))  # type: ignore[arg-type]
    return False


def _is_unfit(text: str) -> bool:
    """As `_UNFIT` says, but faster on tens of megabytes, where the pattern would hold up everybody else."""
    if "\x00" in text:
        return True
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _fault(value: Any, depth: int) -> str | None:
    match value:
        case str():
            return "half a surrogate pair or a NUL in a text" if _is_unfit(value) else None
        case bool() | None:
            return None
        case int():
            return None if -(2**63) <= value < 2**64 else "an integer beyond 64 bits"
        case float():
            return None if math.isfinite(value) else f"{value} is not JSON"
        case dict() | list() | tuple() if depth == 0:
            return f"nested deeper than {DEPTH_LIMIT} levels"
        case dict():
            known: dict[Any, Any] = value  # type: ignore[assignment]
            return _mapping_fault(known, depth)
        case list() | tuple():
            items = list[Any](value)  # type: ignore[arg-type]
            return next(filter(None, (_fault(item, depth - 1) for item in items)), None)
        case _:
            return f"a {type(value).__name__} is not JSON"


def _mapping_fault(value: dict[Any, Any], depth: int) -> str | None:
    for name in value:
        if not isinstance(name, str):
            return "a key that is not text"
        if _is_unfit(name):
            return "half a surrogate pair or a NUL in a key"
    if _is_forbidden(value):
        return "__proto__ or constructor.prototype as a key"
    return next(filter(None, (_fault(inner, depth - 1) for inner in value.values())), None)


def _is_forbidden(value: Mapping[str, Any]) -> bool:
    maker = value.get("constructor")
    return "__proto__" in value or (isinstance(maker, Mapping) and "prototype" in maker)
