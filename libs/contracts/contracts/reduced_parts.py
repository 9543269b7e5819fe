"""The parts of a message under reduction: each knows how to become the dict that clients have.

Kept apart from the reducer because of one trick: what streams is kept in pieces, and joined or parsed on a look.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from contracts.partial_json import ABSENT, parse_partial
from contracts.pieces import Pieces

Json = Any


class Part(ABC):
    """A part, with the tick of its last change. `data` is the finished dict, or what of it is not streaming."""

    __slots__ = ("changed", "data", "kind")

    def __init__(self, data: dict[str, Json]) -> None:
        self.data = data
        self.kind: str = data["type"]
        self.changed = 0

    @abstractmethod
    def snapshot(self) -> dict[str, Json]:
        """The part as clients have it by now."""


class Plain(Part):
    """A part that is whole: a step's start, a source, a file, data, or one restored from the store."""

    __slots__ = ()

    def snapshot(self) -> dict[str, Json]:
        return self.data


class Streamed(Part):
    """Text or reasoning."""

    __slots__ = ("done", "metadata", "pieces")

    def __init__(self, data: dict[str, Json], metadata: Json) -> None:
        super().__init__(data)
        self.pieces = Pieces()
        self.metadata = metadata
        self.done = False

    def snapshot(self) -> dict[str, Json]:
        part = {**self.data, "text": self.pieces.text(), "state": "done" if self.done else "streaming"}
        if self.metadata is not None:
            part["providerMetadata"] = self.metadata
        return part


class Tool(Part):
    """A tool call, static (`tool-NAME`) or dynamic. While `source` is set, its input is still being written there."""

    __slots__ = ("call", "dynamic", "source")

    def __init__(self, data: dict[str, Json]) -> None:
        super().__init__(data)
        self.call: str = data["toolCallId"]
        self.dynamic = self.kind == "dynamic-tool"
        self.source: PartialInput | None = None

    @classmethod
    def named(cls, call: str, name: str, dynamic: bool) -> "Tool":
        head = {"type": "dynamic-tool", "toolName": name} if dynamic else {"type": f"tool-{name}"}
        return cls({**head, "toolCallId": call})

    def rename(self, name: str) -> None:
        field, value = ("toolName", name) if self.dynamic else ("type", f"tool-{name}")
        if self.data[field] != value:
            self.data = {**self.data, field: value}

    def snapshot(self) -> dict[str, Json]:
        if self.source is None:
            return self.data
        part = dict(self.data)
        _put(part, "input", self.source.value())
        part["rawInput"] = self.source.text()
        return part

    def input(self) -> Json:
        return self.source.value() if self.source else self.data.get("input", ABSENT)

    def raw_input(self) -> Json:
        return self.source.text() if self.source else self.data.get("rawInput", ABSENT)

    def patch(self, **fields: Json) -> None:
        """Set some fields and leave the others alone (approvals and refusals)."""
        self.data = {**self.snapshot(), **fields}
        self.source = None

    def update(
        self,
        chunk: Mapping[str, Any],
        state: str,
        *,
        input: Json = ABSENT,
        raw_input: Json = ABSENT,
        encoding: str | None = None,
        output: Json = ABSENT,
        error: Json = ABSENT,
    ) -> None:
        """Set what a state has and take away what it has not; title, executor and metadata stay once known."""
        part = {**self.data, "state": state}
        _put(part, "input", input)
        _put(part, "rawInput", raw_input)
        _put(part, "inputEncoding", ABSENT if encoding is None else encoding)
        _put(part, "output", output)
        _put(part, "errorText", error)
        _put(part, "preliminary", chunk.get("preliminary", ABSENT))
        for name in ("title", "toolMetadata", "providerExecuted"):
            if chunk.get(name) is not None:
                part[name] = chunk[name]
        if chunk.get("providerMetadata") is not None:
            side = "result" if state in ("output-available", "output-error") else "call"
            part[f"{side}ProviderMetadata"] = chunk["providerMetadata"]
        self.data = part
        self.source = None


class PartialInput:
    """The text of a call's input as it arrives."""

    __slots__ = ("dynamic", "encoding", "naming", "part", "pieces")

    def __init__(self, naming: dict[str, Json], dynamic: bool, encoding: str | None, text: str, part: Tool) -> None:
        self.naming = naming  # what each delta says again about its call
        self.dynamic = dynamic
        self.encoding = encoding
        self.pieces = Pieces(text)
        self.part = part

    @classmethod
    def of_chunk(cls, chunk: Mapping[str, Any], part: Tool) -> "PartialInput":
        naming = {name: chunk[name] for name in ("toolCallId", "toolName", "title", "toolMetadata") if name in chunk}
        return cls(naming, bool(chunk.get("dynamic")), chunk.get("inputEncoding"), "", part)

    @classmethod
    def of_part(cls, part: Tool) -> "PartialInput":
        data = part.data
        naming = {name: data[name] for name in ("toolCallId", "title", "toolMetadata") if name in data}
        naming["toolName"] = data["toolName"] if part.dynamic else part.kind.removeprefix("tool-")
        return cls(naming, part.dynamic, data.get("inputEncoding"), data.get("rawInput", ""), part)

    def text(self) -> str:
        return self.pieces.text()

    def value(self) -> Json:
        return self.text() if self.encoding == "text" else parse_partial(self.text())


def _put(part: dict[str, Json], name: str, value: Json) -> None:
    if value is ABSENT:
        part.pop(name, None)
    else:
        part[name] = value
