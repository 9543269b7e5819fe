"""Which chunks may go on the wire, field by field: what AI SDK 6 and 7 share, and our own habits on top.

An unknown chunk type is fatal to an SDK client (it validates against a closed union), and a field that only one of
the two versions understands would make their messages differ. So this table is narrower than either SDK.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from contracts.json_values import fault_of

Chunk = dict[str, Any]

FINISH_REASONS: Final = frozenset({"stop", "length", "content-filter", "tool-calls", "error", "other"})

_TEXT = {"id": "str!", "providerMetadata": "part"}
_CALL = {"toolCallId": "str!"}
_OPTIONS = {"dynamic": "bool", "providerExecuted": "bool", "toolMetadata": "object", "providerMetadata": "nested"}
_NAMED = {**_CALL, **_OPTIONS, "toolName": "str!", "title": "str"}

_FIELDS: Final[dict[str, dict[str, str]]] = {
    "start": {"messageId": "str!", "messageMetadata": "object"},
    "message-metadata": {"messageMetadata": "object!"},
    "start-step": {},
    "finish-step": {},
    "text-start": {"id": "str!", "providerMetadata": "part!"},
    "text-delta": {**_TEXT, "delta": "str!"},
    "text-end": _TEXT,
    "reasoning-start": {"id": "str!", "providerMetadata": "part!"},
    "reasoning-delta": {**_TEXT, "delta": "str!"},
    "reasoning-end": _TEXT,
    "tool-input-start": {**_NAMED, "inputEncoding": "encoding"},
    "tool-input-delta": {**_CALL, "inputTextDelta": "str!"},
    "tool-input-available": {**_NAMED, "input": "any!"},
    "tool-input-error": {**_NAMED, "input": "any!", "errorText": "str!"},
    "tool-approval-request": {
        **_CALL,
        "approvalId": "str!",
        "approvalDescriptor": "any",
        "inputSchemaInput": "any",
        "signature": "str",
    },
    "tool-output-available": {**_CALL, **_OPTIONS, "output": "any!", "preliminary": "bool"},
    "tool-output-error": {**_CALL, **_OPTIONS, "errorText": "str!"},
    "tool-output-denied": _CALL,
    "source-url": {"sourceId": "str!", "url": "str!", "title": "str", "providerMetadata": "nested"},
    "source-document": {
        "sourceId": "str!",
        "mediaType": "str!",
        "title": "str!",
        "filename": "str",
        "providerMetadata": "nested",
    },
    "file": {"url": "str!", "mediaType": "str!", "providerMetadata": "nested"},
    "finish": {"finishReason": "reason", "messageMetadata": "object"},
    "abort": {"reason": "str"},
    "error": {"errorText": "str!"},
}
_DATA_FIELDS: Final = {"id": "str", "data": "any!", "transient": "bool"}
_DATA_TYPE: Final = re.compile(r"data-[a-z][a-z0-9-]*")

CHUNK_TYPES: Final = frozenset(_FIELDS)
"""Every chunk type that we send, except our own `data-NAME` ones."""


class ChunkError(ValueError):
    """A chunk that must not be sent, or that does not fit where it stands: a bug of whoever made it."""


def check(chunk: Mapping[str, Any]) -> None:
    """Raise `ChunkError` unless both SDKs would take this chunk and understand the same by it."""
    kind = chunk.get("type")
    if not isinstance(kind, str):
        raise ChunkError("a chunk needs a type")
    fields = _DATA_FIELDS if _DATA_TYPE.fullmatch(kind) else _FIELDS.get(kind)
    if fields is None:
        raise ChunkError(f"{kind}: not a chunk type that SDK 6 and 7 share")
    for problem in _problems(chunk, fields):
        raise ChunkError(f"{kind}: {problem}")
    # SDK 6 files a static call's refused input under `rawInput`, SDK 7 under `input`; for dynamic calls they agree.
    if kind == "tool-input-error" and chunk.get("dynamic") is not True:
        raise ChunkError("tool-input-error: only for dynamic tools; send tool-input-available and tool-output-error")


def _problems(chunk: Mapping[str, Any], fields: Mapping[str, str]) -> Iterator[str]:
    for name in chunk:
        if name != "type" and name not in fields:
            yield f"unknown field {name}"
    for name, rule in fields.items():
        if name not in chunk:
            if rule.endswith("!"):
                yield f"{name} is missing"
        elif not _fits(chunk[name], rule.rstrip("!")):
            yield f"{name} is not {rule.rstrip('!')}"
    fault = fault_of(chunk)
    if fault is not None:
        yield fault


def _fits(value: Any, rule: str) -> bool:
    match rule:
        case "any":
            return True
        case "str":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "object":
            return isinstance(value, dict)
        case "nested":
            return _is_nested(value)
        case "part":
            return _is_nested(value) and isinstance(value.get("retinue", {}).get("part"), str)
        case "encoding":
            return value in ("json", "text")
        case "reason":
            return value in FINISH_REASONS
        case _:
            raise AssertionError(f"no such rule: {rule}")


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(inner, dict) for inner in value.values())  # type: ignore[misc]
