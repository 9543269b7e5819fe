"""The chunks of a turn: cheap makers of plain dicts, and what stands around them on the wire.

A chunk is one JSON object of the AI SDK UI message stream, protocol v1. The makers keep our habits, so that callers
cannot forget them: a text or reasoning part's id is also in `providerMetadata.retinue.part` (which clients keep, so
that superseded parts can be named), and calls that we run are marked `providerExecuted` on every chunk (otherwise
clients post them back to us). `check` in `contracts.chunk_rules` is the other half.
"""

from typing import Any, Final, Literal

from contracts.chunk_rules import CHUNK_TYPES, Chunk, ChunkError, check

__all__ = ["CHUNK_TYPES", "Chunk", "ChunkError", "check"]

Json = Any
Metadata = dict[str, dict[str, Json]]
FinishReason = Literal["stop", "length", "content-filter", "tool-calls", "error", "other"]

STREAM_HEADERS: Final = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "x-vercel-ai-ui-message-stream": "v1",
    "x-accel-buffering": "no",
}
KEEP_ALIVE: Final = b": keep-alive\n\n"


# The message and its steps


def start(message_id: str, metadata: dict[str, Json] | None = None) -> Chunk:
    return _with({"type": "start", "messageId": message_id}, messageMetadata=metadata)


def message_metadata(metadata: dict[str, Json]) -> Chunk:
    return {"type": "message-metadata", "messageMetadata": metadata}


def start_step() -> Chunk:
    return {"type": "start-step"}


def finish_step() -> Chunk:
    return {"type": "finish-step"}


def finish(reason: FinishReason | None = None, metadata: dict[str, Json] | None = None) -> Chunk:
    return _with({"type": "finish"}, finishReason=reason, messageMetadata=metadata)


def abort(reason: str | None = None) -> Chunk:
    return _with({"type": "abort"}, reason=reason)


def error(text: str) -> Chunk:
    """Ends the message for a client: status `error`, and it drops whatever follows."""
    return {"type": "error", "errorText": text}


# Text and reasoning. `part` is unique within the message. Metadata given at the end replaces what came before.


def text_start(part: str, metadata: Metadata | None = None) -> Chunk:
    return {"type": "text-start", "id": part, "providerMetadata": _named(part, metadata)}


def text_delta(part: str, delta: str) -> Chunk:
    return {"type": "text-delta", "id": part, "delta": delta}


def text_end(part: str, metadata: Metadata | None = None) -> Chunk:
    chunk: Chunk = {"type": "text-end", "id": part}
    return chunk if metadata is None else {**chunk, "providerMetadata": _named(part, metadata)}


def reasoning_start(part: str, metadata: Metadata | None = None) -> Chunk:
    return {"type": "reasoning-start", "id": part, "providerMetadata": _named(part, metadata)}


def reasoning_delta(part: str, delta: str) -> Chunk:
    return {"type": "reasoning-delta", "id": part, "delta": delta}


def reasoning_end(part: str, metadata: Metadata | None = None) -> Chunk:
    chunk: Chunk = {"type": "reasoning-end", "id": part}
    return chunk if metadata is None else {**chunk, "providerMetadata": _named(part, metadata)}


# Tool calls. `ours` says that the server runs the tool. `dynamic` and `ours` are the same on all chunks of a call.


def tool_input_start(
    call: str,
    tool: str,
    *,
    ours: bool,
    dynamic: bool = False,
    title: str | None = None,
    metadata: Metadata | None = None,
) -> Chunk:
    chunk: Chunk = {"type": "tool-input-start", "toolCallId": call, "toolName": tool}
    return _call(chunk, ours, dynamic, title, metadata)


def tool_input_delta(call: str, delta: str) -> Chunk:
    return {"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": delta}


def tool_input_available(
    call: str,
    tool: str,
    input: Json,
    *,
    ours: bool,
    dynamic: bool = False,
    title: str | None = None,
    metadata: Metadata | None = None,
) -> Chunk:
    chunk: Chunk = {"type": "tool-input-available", "toolCallId": call, "toolName": tool, "input": input}
    return _call(chunk, ours, dynamic, title, metadata)


def tool_approval_request(call: str, approval: str) -> Chunk:
    return {"type": "tool-approval-request", "toolCallId": call, "approvalId": approval}


def tool_output_available(
    call: str,
    output: Json,
    *,
    ours: bool,
    dynamic: bool = False,
    preliminary: bool = False,
    metadata: Metadata | None = None,
) -> Chunk:
    """A result; `preliminary` ones may come repeatedly before the final one. No output is `None`, never absent."""
    chunk: Chunk = {"type": "tool-output-available", "toolCallId": call, "output": output}
    if preliminary:
        chunk["preliminary"] = True
    return _call(chunk, ours, dynamic, None, metadata)


def tool_output_error(
    call: str, text: str, *, ours: bool, dynamic: bool = False, metadata: Metadata | None = None
) -> Chunk:
    """A failed call. Input that could not be parsed is sent as `tool_input_available` with the raw text, then this."""
    chunk: Chunk = {"type": "tool-output-error", "toolCallId": call, "errorText": text}
    return _call(chunk, ours, dynamic, None, metadata)


def tool_output_denied(call: str) -> Chunk:
    return {"type": "tool-output-denied", "toolCallId": call}


# Sources, files, our own data


def source_url(source: str, url: str, title: str | None = None, metadata: Metadata | None = None) -> Chunk:
    return _with({"type": "source-url", "sourceId": source, "url": url}, title=title, providerMetadata=metadata)


def source_document(
    source: str, media_type: str, title: str, filename: str | None = None, metadata: Metadata | None = None
) -> Chunk:
    chunk: Chunk = {"type": "source-document", "sourceId": source, "mediaType": media_type, "title": title}
    return _with(chunk, filename=filename, providerMetadata=metadata)


def file(url: str, media_type: str, metadata: Metadata | None = None) -> Chunk:
    return _with({"type": "file", "url": url, "mediaType": media_type}, providerMetadata=metadata)


def data(name: str, value: Json, id: str | None = None, *, transient: bool = False) -> Chunk:
    """Our own `data-NAME` chunk; the same name and id replace the value in place; transient ones are never stored."""
    chunk: Chunk = {"type": f"data-{name}", "data": value}
    if id is not None:
        chunk["id"] = id
    if transient:
        chunk["transient"] = True
    return chunk


def superseded(epoch: int, cut: int, parts: list[str]) -> Chunk:
    """Tells readers who saw more than counts: what older epochs began beyond `cut` is gone (its known names)."""
    return data("superseded", {"epoch": epoch, "cut": cut, "parts": parts})


def _named(part: str, metadata: Metadata | None) -> Metadata:
    own = {"retinue": {"part": part}}
    return own if metadata is None else {**metadata, "retinue": {**metadata.get("retinue", {}), "part": part}}


def _call(chunk: Chunk, ours: bool, dynamic: bool, title: str | None, metadata: Metadata | None) -> Chunk:
    if ours:
        chunk["providerExecuted"] = True
    if dynamic:
        chunk["dynamic"] = True
    return _with(chunk, title=title, providerMetadata=metadata)


def _with(chunk: Chunk, **optional: Json) -> Chunk:
    for name, value in optional.items():
        if value is not None:
            chunk[name] = value
    return chunk
