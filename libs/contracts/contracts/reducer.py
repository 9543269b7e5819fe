"""What a client's message is after a sequence of chunks: the AI SDK's own reducer, in Python.

It equals `readUIMessageStream` of `ai` 6 and 7 field for field, for whole and for cut-off streams, so that what we
store is what browsers built (tests/contract holds it against both). Text deltas cost an append: text is joined, and
streamed tool input is parsed, only when somebody looks.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from contracts.chunk_rules import Chunk, ChunkError
from contracts.partial_json import ABSENT
from contracts.reduced_parts import Part, PartialInput, Plain, Streamed, Tool

Json = Any
Mark = int


class Reducer:
    """One message, built chunk by chunk. The dicts it hands out are snapshots: never changed later, not to be changed.

    `parts` lets it go on from a stored message (a continuation). A `start` with another message id begins anew.
    """

    def __init__(self, message_id: str = "", parts: Iterable[Chunk] = (), metadata: Json = None) -> None:
        self.message_id = message_id
        self.metadata: Json = metadata
        self.finish_reason: str | None = None
        self._tick: Mark = 0
        self._clear()
        for part in parts:
            self._restore(part)

    @property
    def parts(self) -> list[Chunk]:
        return [part.snapshot() for part in self._parts]

    @property
    def message(self) -> dict[str, Json]:
        """The whole UIMessage, as clients have it."""
        message: dict[str, Json] = {"id": self.message_id, "role": "assistant", "parts": self.parts}
        if self.metadata is not None:
            message["metadata"] = self.metadata
        return message

    def __len__(self) -> int:
        return len(self._parts)

    def mark(self) -> Mark:
        """Now, for `changed_since`."""
        return self._tick

    def changed_since(self, mark: Mark) -> list[tuple[int, Chunk]]:
        """Ordinal and snapshot of every part that is new or was touched after the mark."""
        return [(ordinal, part.snapshot()) for ordinal, part in enumerate(self._parts) if part.changed > mark]

    def drop(self, ordinals: Iterable[int]) -> None:
        """Take out superseded parts (see `contracts.superseded`); later ones move up, open ones are forgotten."""
        gone = {id(self._parts[ordinal]) for ordinal in ordinals}
        self._parts = [part for part in self._parts if id(part) not in gone]
        for streams in self._open.values():
            for name in [name for name, part in streams.items() if id(part) in gone]:
                del streams[name]
        self._inputs = {call: partial for call, partial in self._inputs.items() if id(partial.part) not in gone}
        begun = [i for i, part in enumerate(self._parts) if part.kind == "step-start"]
        self._step = begun[-1] + 1 if begun else 0

    def apply(self, chunk: Mapping[str, Any]) -> None:
        """Raises `ChunkError` where the SDK's reducer would fail: an unknown type, a delta without its start."""
        self._tick += 1
        kind: str = chunk["type"]
        handler = self._HANDLERS.get(kind)
        if handler is not None:
            handler(self, chunk)
        elif kind.startswith("data-"):
            self._data(chunk)
        else:
            raise ChunkError(f"unknown chunk type {kind}")

    def _clear(self) -> None:
        self._parts: list[Part] = []
        self._step = 0  # where the parts of the current step begin
        self._open: dict[str, dict[str, Streamed]] = {"text": {}, "reasoning": {}}
        self._inputs: dict[str, PartialInput] = {}

    def _push(self, part: Part) -> None:
        part.changed = self._tick
        self._parts.append(part)

    def _restore(self, data: Chunk) -> None:
        kind: str = data["type"]
        if kind == "dynamic-tool" or kind.startswith("tool-"):
            tool = Tool(data)
            self._push(tool)
            if data["state"] == "input-streaming":
                self._inputs[tool.call] = PartialInput.of_part(tool)
            return
        self._push(Plain(data))
        if kind == "step-start":
            self._step = len(self._parts)
            self._inputs.clear()

    # The message and its steps

    def _start(self, chunk: Mapping[str, Any]) -> None:
        message_id = chunk.get("messageId")
        if message_id is not None and message_id != self.message_id:
            self._clear()
            self.message_id, self.metadata, self.finish_reason = message_id, None, None
        self._merge(chunk)

    def _merge(self, chunk: Mapping[str, Any]) -> None:
        metadata = chunk.get("messageMetadata")
        if metadata is not None:
            self.metadata = metadata if self.metadata is None else _merged(self.metadata, metadata)

    def _finish(self, chunk: Mapping[str, Any]) -> None:
        self.finish_reason = chunk.get("finishReason", self.finish_reason)
        self._merge(chunk)

    def _start_step(self, chunk: Mapping[str, Any]) -> None:
        self._push(Plain({"type": "step-start"}))
        self._step = len(self._parts)

    def _finish_step(self, chunk: Mapping[str, Any]) -> None:
        """SDK 6 forgets open parts here, SDK 7 does not. The rules close them before, so nobody sees a difference."""

    def _nothing(self, chunk: Mapping[str, Any]) -> None:
        """`abort` and `error` are about the stream; the message stays as it is."""

    # Text and reasoning

    def _text_start(self, chunk: Mapping[str, Any]) -> None:
        self._begin("text", chunk, {"type": "text"})

    def _reasoning_start(self, chunk: Mapping[str, Any]) -> None:
        self._begin("reasoning", chunk, {"type": "reasoning", "id": chunk["id"]})

    def _begin(self, family: str, chunk: Mapping[str, Any], head: Chunk) -> None:
        part = Streamed(head, chunk.get("providerMetadata"))
        self._open[family][chunk["id"]] = part
        self._push(part)

    def _text_delta(self, chunk: Mapping[str, Any]) -> None:
        part = self._open["text"].get(chunk["id"])
        if part is None:
            raise _no_part(chunk)
        part.pieces.append(chunk["delta"])
        part.changed = self._tick
        if "providerMetadata" in chunk:
            part.metadata = chunk["providerMetadata"]

    def _reasoning_delta(self, chunk: Mapping[str, Any]) -> None:
        part = self._open["reasoning"].get(chunk["id"])
        if part is None:
            raise _no_part(chunk)
        part.pieces.append(chunk["delta"])
        part.changed = self._tick
        if "providerMetadata" in chunk:
            part.metadata = chunk["providerMetadata"]

    def _text_end(self, chunk: Mapping[str, Any]) -> None:
        self._close("text", chunk)

    def _reasoning_end(self, chunk: Mapping[str, Any]) -> None:
        self._close("reasoning", chunk)

    def _close(self, family: str, chunk: Mapping[str, Any]) -> None:
        part = self._open[family].pop(chunk["id"], None)
        if part is None:
            raise _no_part(chunk)
        part.done = True
        part.changed = self._tick
        if "providerMetadata" in chunk:
            part.metadata = chunk["providerMetadata"]

    # Tool calls

    def _tool_input_start(self, chunk: Mapping[str, Any]) -> None:
        tool = self._tool_for(chunk, bool(chunk.get("dynamic")))
        self._inputs[tool.call] = PartialInput.of_chunk(chunk, tool)
        tool.update(chunk, "input-streaming", encoding=chunk.get("inputEncoding"))

    def _tool_input_delta(self, chunk: Mapping[str, Any]) -> None:
        partial = self._inputs.get(chunk["toolCallId"])
        if partial is None:
            raise _no_part(chunk)
        partial.pieces.append(chunk["inputTextDelta"])
        tool = partial.part
        if tool.source is not partial:
            tool = self._tool_for(partial.naming, partial.dynamic)
            partial.part = tool
            tool.update(partial.naming, "input-streaming", encoding=partial.encoding)
            tool.source = partial
        tool.changed = self._tick

    def _tool_input_available(self, chunk: Mapping[str, Any]) -> None:
        tool = self._tool_for(chunk, bool(chunk.get("dynamic")))
        tool.update(chunk, "input-available", input=chunk.get("input", ABSENT))

    def _tool_input_error(self, chunk: Mapping[str, Any]) -> None:
        known = self._in_step(chunk["toolCallId"])
        tool = self._tool_for(chunk, bool(chunk.get("dynamic")) if known is None else known.dynamic)
        untitled = {name: value for name, value in chunk.items() if name != "title"}
        tool.update(untitled, "output-error", input=chunk.get("input", ABSENT), error=chunk["errorText"])

    def _tool_approval_request(self, chunk: Mapping[str, Any]) -> None:
        approval: Chunk = {"id": chunk["approvalId"]}
        for field, wire in (("descriptor", "approvalDescriptor"), ("signature", "signature")):
            if chunk.get(wire) is not None:
                approval[field] = chunk[wire]
        if "inputSchemaInput" in chunk:
            approval["inputSchemaInput"] = chunk["inputSchemaInput"]
        self._called(chunk).patch(state="approval-requested", approval=approval)

    def _tool_output_denied(self, chunk: Mapping[str, Any]) -> None:
        self._called(chunk).patch(state="output-denied")

    def _tool_output_available(self, chunk: Mapping[str, Any]) -> None:
        tool = self._called(chunk)
        output = chunk.get("output", ABSENT)
        tool.update(chunk, "output-available", input=tool.input(), output=output)

    def _tool_output_error(self, chunk: Mapping[str, Any]) -> None:
        tool = self._called(chunk)
        raw = ABSENT if tool.dynamic else tool.raw_input()
        tool.update(chunk, "output-error", input=tool.input(), raw_input=raw, error=chunk["errorText"])

    def _tool_for(self, chunk: Mapping[str, Any], dynamic: bool) -> Tool:
        """This call's part in the current step, made if need be, under the name that the chunk gives it."""
        tool = self._in_step(chunk["toolCallId"], dynamic)
        if tool is None:
            tool = Tool.named(chunk["toolCallId"], chunk["toolName"], dynamic)
            self._push(tool)
        tool.rename(chunk["toolName"])
        tool.changed = self._tick
        return tool

    def _called(self, chunk: Mapping[str, Any]) -> Tool:
        """The call that a result is for: in the current step first, else the latest in the whole message."""
        tool = self._in_step(chunk["toolCallId"])
        if tool is None:
            earlier = (part for part in reversed(self._parts) if isinstance(part, Tool))
            tool = next((part for part in earlier if part.call == chunk["toolCallId"]), None)
        if tool is None:
            raise ChunkError(f"{chunk['type']}: no tool call {chunk['toolCallId']} in this message")
        tool.changed = self._tick
        return tool

    def _in_step(self, call: str, dynamic: bool | None = None) -> Tool | None:
        for ordinal in range(self._step, len(self._parts)):
            part = self._parts[ordinal]
            if isinstance(part, Tool) and part.call == call and dynamic in (None, part.dynamic):
                return part
        return None

    # Sources, files, our own data

    def _copied(self, chunk: Mapping[str, Any]) -> None:
        self._push(Plain({name: chunk[name] for name in _COPIED[chunk["type"]] if name in chunk}))

    def _data(self, chunk: Mapping[str, Any]) -> None:
        if chunk.get("transient"):
            return
        known = self._data_part(chunk["type"], chunk.get("id"))
        if known is None:
            self._push(Plain(dict(chunk)))
        else:
            known.data = {**known.data, "data": chunk["data"]}
            known.changed = self._tick

    def _data_part(self, kind: str, name: str | None) -> Part | None:
        if name is None:
            return None
        return next((part for part in self._parts if part.kind == kind and part.data.get("id") == name), None)

    _HANDLERS: ClassVar[dict[str, Callable[["Reducer", Mapping[str, Any]], None]]] = {
        "start": _start,
        "message-metadata": _merge,
        "start-step": _start_step,
        "finish-step": _finish_step,
        "finish": _finish,
        "abort": _nothing,
        "error": _nothing,
        "text-start": _text_start,
        "text-delta": _text_delta,
        "text-end": _text_end,
        "reasoning-start": _reasoning_start,
        "reasoning-delta": _reasoning_delta,
        "reasoning-end": _reasoning_end,
        "tool-input-start": _tool_input_start,
        "tool-input-delta": _tool_input_delta,
        "tool-input-available": _tool_input_available,
        "tool-input-error": _tool_input_error,
        "tool-approval-request": _tool_approval_request,
        "tool-output-available": _tool_output_available,
        "tool-output-error": _tool_output_error,
        "tool-output-denied": _tool_output_denied,
        "file": _copied,
        "source-url": _copied,
        "source-document": _copied,
    }


_COPIED = {
    "file": ("type", "mediaType", "url", "providerMetadata"),
    "source-url": ("type", "sourceId", "url", "title", "providerMetadata"),
    "source-document": ("type", "sourceId", "mediaType", "title", "filename", "providerMetadata"),
}


def _merged(base: Json, overrides: Json) -> Json:
    """Deep merge as the SDK does it: objects are merged, all else (arrays, null) replaces."""
    if not isinstance(base, dict) or not isinstance(overrides, dict):
        return overrides
    result: dict[str, Json] = dict(base)  # type: ignore[arg-type]
    for name, value in overrides.items():  # type: ignore[misc]
        if name not in ("__proto__", "constructor", "prototype"):
            both = isinstance(value, dict) and isinstance(result.get(name), dict)  # type: ignore[arg-type]
            result[name] = _merged(result[name], value) if both else value
    return result


def _no_part(chunk: Mapping[str, Any]) -> ChunkError:
    return ChunkError(f"{chunk['type']}: {chunk.get('id', chunk.get('toolCallId'))} was not started or is closed")
