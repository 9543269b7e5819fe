"""What stays the same from chunk to chunk of one answer, so that only the text is decoded.

Providers send each token as the same JSON with another string in it. A template is what stands before and after that
string. It is learned from a chunk that was parsed in full and did nothing but bring text, and only if another string
in its place is read as that text and nothing else changes. A chunk fits if it begins and ends as the template does and
what is between is one JSON string: replacing one whole string of a JSON text by another changes that value alone.
Whatever does not fit is parsed in full.
"""

from typing import Any

import orjson

_PROBE = "\u2063retinue\u2063"
_PROBE_JSON = orjson.dumps(_PROBE)
_FIELD = b'"content":'
_MOST_LESSONS = 8
"""Providers that vary more than the text (padding against eavesdroppers) are not asked again and again."""


class Template:
    """Learns from chunks and reads those that fit."""

    __slots__ = ("_head", "_lessons", "_tail")

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self._lessons = 0

    def text(self, data: bytes) -> str | None:
        """The text of a chunk that fits; None if it has to be parsed."""
        head = self._head
        if not head or not data.startswith(head) or not data.endswith(self._tail):
            return None
        middle = data[len(head) : len(data) - len(self._tail)]
        # Nothing else than a string may begin and end so and still be JSON: `"a","b"` is not.
        if len(middle) < 3 or middle[0] != 34:
            return None
        try:
            text = orjson.loads(middle)
        except ValueError:
            return None
        return text if type(text) is str else None

    def learn(self, data: bytes, chunk: dict[str, Any], text: str) -> None:
        """From a chunk whose only effect was this text."""
        if self._lessons >= _MOST_LESSONS:
            return
        self._lessons += 1
        found = _around(data, text)
        if found is None:
            return
        head, tail = found
        try:
            probed = orjson.loads(head + _PROBE_JSON + tail)
            place = probed["choices"][0]["delta"]
        except (ValueError, LookupError, TypeError):
            return
        if place.get("content") == _PROBE:
            place["content"] = text
            if probed == chunk:
                self._head, self._tail = head, tail


def _around(data: bytes, text: str) -> tuple[bytes, bytes] | None:
    """What is before and after the first string under `content` that is this text."""
    at = data.find(_FIELD)
    while at >= 0:
        begin = at + len(_FIELD)
        begin += len(data) - begin - len(data[begin:].lstrip(b" "))
        end = _end_of_string(data, begin)
        if end is not None:
            try:
                if orjson.loads(data[begin:end]) == text:
                    return data[:begin], data[end:]
            except ValueError:
                return None
        at = data.find(_FIELD, begin)
    return None


def _end_of_string(data: bytes, begin: int) -> int | None:
    """Behind the closing quote of the JSON string that begins here."""
    if data[begin : begin + 1] != b'"':
        return None
    at = begin + 1
    while at < len(data):
        if data[at] == 34:
            return at + 1
        at += 2 if data[at] == 92 else 1
    return None
