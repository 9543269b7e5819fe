"""Turns what a model says into chunks: opens and closes parts, numbers them, gathers tool calls."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from contracts import chunks
from contracts.chunks import Chunk
from contracts.ids import uuid7
from contracts.json_values import clean_text, fault_of
from llm import Event, Finish, ReasoningDelta, Served, TextDelta, ToolCallDelta, ToolCallStart, Usage

Open = Literal["text", "reasoning"]


@dataclass(slots=True)
class AskedCall:
    """A tool call as the model made it. `id` is ours, on the wire and in the rows; the provider's goes back to it."""

    provider_call_id: str
    name: str
    id: UUID = field(default_factory=uuid7)
    pieces: list[str] = field(default_factory=list[str])

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def input(self) -> Any:
        """The arguments as JSON data; the raw text if they are none, or none that can be kept and sent as they are."""
        text = self.arguments.strip()
        if not text:
            return {}
        try:
            value = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return text
        return value if fault_of(value) is None else text


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


class Narration:
    """One model call, told as chunks. `prefix` makes part ids unique within the message, whatever was retried.

    `follows_step` says that an earlier step is to be closed first; that belongs to this step's first batch, so that
    it is said again when the step is told again.
    """

    def __init__(self, prefix: str, *, follows_step: bool = False) -> None:
        self.text: list[str] = []
        self.calls: list[AskedCall] = []
        self.usage: Usage | None = None
        self.served: Served | None = None
        self.finish: Finish | None = None
        self.has_begun = False
        self.characters = 0
        """Everything that was streamed, for an estimate where the provider reports no usage."""
        self._prefix = prefix
        self._follows_step = follows_step
        self._parts = 0
        self._open: Open | None = None
        self._part = ""

    def tell(self, events: list[Event]) -> list[Chunk]:
        """The chunks for what just arrived; the first ones open the step."""
        told: list[Chunk] = []
        for event in events:
            kind = type(event)
            if kind is TextDelta:
                self._say("text", event.text, told)  # pyright: ignore[reportAttributeAccessIssue]
            elif kind is ReasoningDelta:
                self._say("reasoning", event.text, told)  # pyright: ignore[reportAttributeAccessIssue]
            elif isinstance(event, ToolCallStart):
                self._begin(told)
                self.close(told)
                call = AskedCall(clean_text(event.provider_call_id), clean_text(event.name))
                self.calls.append(call)
                told.append(chunks.tool_input_start(str(call.id), call.name, ours=True))
            elif isinstance(event, ToolCallDelta):
                call = self.calls[event.index]
                piece = clean_text(event.arguments)
                call.pieces.append(piece)
                self.characters += len(piece)
                told.append(chunks.tool_input_delta(str(call.id), piece))
            elif isinstance(event, Usage):
                self.usage = event
            elif isinstance(event, Served):
                self.served = Served(clean_text(event.model), event.response_id)
            elif isinstance(event, Finish):
                self.finish = event
                self._finish(told)
        return told

    def close(self, told: list[Chunk]) -> None:
        """Ends the open text or reasoning part, if there is one."""
        if self._open is not None:
            end = chunks.text_end if self._open == "text" else chunks.reasoning_end
            told.append(end(self._part))
            self._open = None

    def _begin(self, told: list[Chunk]) -> None:
        if not self.has_begun:
            self.has_begun = True
            if self._follows_step:
                told.append(chunks.finish_step())
            told.append(chunks.start_step())

    def _say(self, kind: Open, text: str, told: list[Chunk]) -> None:
        if self._open != kind:
            self._begin(told)
            self.close(told)
            self._parts += 1
            self._part = f"{self._prefix}.{self._parts}"
            self._open = kind
            start = chunks.text_start if kind == "text" else chunks.reasoning_start
            told.append(start(self._part))
        text = clean_text(text)  # a NUL would be refused by Postgres, when the turn has long been told
        self.characters += len(text)
        if kind == "text":
            self.text.append(text)
            told.append(chunks.text_delta(self._part, text))
        else:
            told.append(chunks.reasoning_delta(self._part, text))

    def _finish(self, told: list[Chunk]) -> None:
        self.close(told)
        for call in self.calls:
            told.append(chunks.tool_input_available(str(call.id), call.name, call.input, ours=True))
