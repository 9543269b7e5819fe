"""Stored parts as chunks again: the inverse of the reducer, for readers whose log is gone and for continuations.

`reduce(encode(parts)) == parts` for everything that chunks can build. What no chunk of the shared protocol can say
comes out as the nearest thing: an approval's answer (`approval-responded`, `approved`, `reason`) as the request,
a file's `filename` and a dynamic part's `dynamic: false` not at all, text without a `state` as `done`, reasoning
without an `id` with one, and a failed call's `rawInput` only if it is text that streamed.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from contracts.chunk_rules import Chunk, ChunkError
from contracts.superseded import name_of

Json = Any
StoredPart = Mapping[str, Any]

_RESULTS = ("output-available", "output-error")
_APPROVAL = (("descriptor", "approvalDescriptor"), ("signature", "signature"), ("inputSchemaInput", "inputSchemaInput"))


def encode(parts: Iterable[StoredPart]) -> Iterator[Chunk]:
    """The chunks that build these parts; no `start` and no `finish`, and the last step is left open.

    So a caller sends its own `start` first, and either follows with the rest of a log or closes the step itself.
    """
    in_step = False
    for ordinal, part in enumerate(parts):
        if part["type"] == "step-start":
            if in_step:
                yield {"type": "finish-step"}
            in_step = True
        yield from _part(part, ordinal)


def _part(part: StoredPart, ordinal: int) -> Iterator[Chunk]:
    kind: str = part["type"]
    if kind == "step-start":
        yield {"type": "start-step"}
    elif kind in ("text", "reasoning"):
        yield from _streamed(kind, part, ordinal)
    elif kind == "dynamic-tool" or kind.startswith("tool-"):
        yield from _tool(part)
    elif kind in ("source-url", "source-document") or kind.startswith("data-"):
        yield dict(part)
    elif kind == "file":
        yield {name: value for name, value in part.items() if name != "filename"}
    else:
        raise ChunkError(f"no chunk makes a part of type {kind}")


def _streamed(kind: str, part: StoredPart, ordinal: int) -> Iterator[Chunk]:
    name = part.get("id") or name_of(part) or f"part-{ordinal}"
    yield _with({"type": f"{kind}-start", "id": name}, part, ("providerMetadata", "providerMetadata"))
    if part["text"]:
        yield {"type": f"{kind}-delta", "id": name, "delta": part["text"]}
    if part.get("state") != "streaming":
        yield {"type": f"{kind}-end", "id": name}


def _tool(part: StoredPart) -> Iterator[Chunk]:
    call = {"toolCallId": part["toolCallId"]}
    yield from _input(part, call)
    approval = part.get("approval")
    if approval is not None:
        yield _with({"type": "tool-approval-request", **call, "approvalId": approval["id"]}, approval, *_APPROVAL)
    if part["state"] in _RESULTS:
        yield _output(part, call)
    elif part["state"] == "output-denied":
        yield {"type": "tool-output-denied", **call}


def _input(part: StoredPart, call: Chunk) -> Iterator[Chunk]:
    """Whole input is one chunk; input that is, or stayed, unfinished is streamed again."""
    dynamic = part["type"] == "dynamic-tool"
    head = {**call, "toolName": part["toolName"] if dynamic else part["type"].removeprefix("tool-")}
    if dynamic:
        head["dynamic"] = True
    fields = [(name, name) for name in ("providerExecuted", "title", "toolMetadata")]
    head = _with(head, part, *fields, ("callProviderMetadata", "providerMetadata"))
    raw = part.get("rawInput")
    if part["state"] != "input-streaming" and "input" in part and not isinstance(raw, str):
        yield {"type": "tool-input-available", **head, "input": part["input"]}
        return
    encoding = part.get("inputEncoding")
    if encoding is None and isinstance(raw, str) and part.get("input") == raw and part["state"] == "output-error":
        encoding = "text"  # a failed call forgets how its input was written
    if encoding is not None:
        head["inputEncoding"] = encoding
    yield {"type": "tool-input-start", **head}
    if isinstance(raw, str):
        yield {"type": "tool-input-delta", **call, "inputTextDelta": raw}


def _output(part: StoredPart, call: Chunk) -> Chunk:
    if part["state"] == "output-error":
        chunk: Chunk = {"type": "tool-output-error", **call, "errorText": part["errorText"]}
    else:
        # A call stored without output (the SDK's `undefined`) still needs one on the wire.
        chunk = {"type": "tool-output-available", **call, "output": part.get("output")}
    if part["type"] == "dynamic-tool":
        chunk["dynamic"] = True
    fields = [(name, name) for name in ("providerExecuted", "preliminary")]
    return _with(chunk, part, *fields, ("resultProviderMetadata", "providerMetadata"))


def _with(chunk: Chunk, source: Mapping[str, Json], *fields: tuple[str, str]) -> Chunk:
    for name, wire in fields:
        if name in source:
            chunk[wire] = source[name]
    return chunk
