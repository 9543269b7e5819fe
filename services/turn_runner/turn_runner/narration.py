"""Turns what a model says into chunks: opens and closes parts, numbers them, gathers tool calls."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from contracts import chunks
from contracts.chunks import Chunk
from contracts.ids import uuid7
from contracts.json_values import clean_text, fault_of
from contracts.pieces import Pieces
from llm import (
    Event,
    Finish,
    HostedSearchEnd,
    HostedSearchStart,
    Reasoning,
    ReasoningData,
    ReasoningDelta,
    Served,
    Source,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from turn_runner.repair import arguments_in

Open = Literal["text", "reasoning"]


@dataclass(slots=True)
class AskedCall:
    """A tool call as the model made it. `id` is ours, on the wire and in the rows; the provider's goes back to it."""

    provider_call_id: str
    name: str
    id: UUID = field(default_factory=uuid7)
    pieces: Pieces = field(default_factory=Pieces)

    @property
    def arguments(self) -> str:
        return self.pieces.text()

    @property
    def input(self) -> Any:
        """The arguments as JSON data, mended in form; the raw text if they are none, or none that can be kept."""
        return arguments_in(self.arguments)


@dataclass(slots=True)
class HostedCall:
    """A search that the provider ran within the model call: shown as a call, never run by us nor sent back as one."""

    query: str
    id: UUID = field(default_factory=uuid7)

    @property
    def input(self) -> dict[str, Any]:
        return {"query": self.query}

    @property
    def output(self) -> dict[str, Any]:
        """What it found is in the answer and its sources; nobody tells us more."""
        return {"searched_by": "provider"}


HOSTED_SEARCH = "web_search"
"""The name under which a provider's own search is shown: that of our tool, which is never offered beside it."""


class Narration:
    """One model call, told as chunks. `prefix` makes part ids unique within the message, whatever was retried.

    `follows_step` says that an earlier step is to be closed first; that belongs to this step's first batch, so that
    it is said again when the step is told again.
    """

    def __init__(self, prefix: str, *, follows_step: bool = False) -> None:
        self.text = Pieces()
        self.calls: list[AskedCall] = []
        self.searches: list[HostedCall] = []
        """What the provider searched for by itself."""
        self.reasoning: list[Reasoning] = []
        """What the provider wants back of its reasoning, in order."""
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
        self._thought = Pieces()
        self._thinking_since = 0.0
        self._searching: dict[str, HostedCall] = {}
        self._sources: set[str] = set()

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
            elif isinstance(event, ReasoningData):
                self._seal(event, told)
            elif isinstance(event, Source):
                self._cite(event, told)
            elif isinstance(event, HostedSearchStart):
                self._search(event, told)
            elif isinstance(event, HostedSearchEnd):
                self._searched(event.id, clean_text(event.query), told)
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
        if self._open == "text":
            told.append(chunks.text_end(self._part))
        elif self._open == "reasoning":
            told.append(chunks.reasoning_end(self._part, {"retinue": self._thinking_took()}))
        self._open = None

    def _thinking_took(self) -> dict[str, Any]:
        """How long the open reasoning part took, in ms: so that it can still be said when the message is read again."""
        return {"took_ms": round((time.monotonic() - self._thinking_since) * 1000)}

    def close_searches(self, told: list[Chunk]) -> None:
        """Ends what the provider was still searching for: the call is over, and we hear no more of it."""
        for id in list(self._searching):
            self._searched(id, "", told)

    def _begin(self, told: list[Chunk]) -> None:
        if not self.has_begun:
            self.has_begun = True
            if self._follows_step:
                told.append(chunks.finish_step())
            told.append(chunks.start_step())

    def _say(self, kind: Open, text: str, told: list[Chunk]) -> None:
        if self._open != kind:
            self._start(kind, told)
        text = clean_text(text)  # a NUL would be refused by Postgres, when the turn has long been told
        self.characters += len(text)
        if kind == "text":
            self.text.append(text)
            told.append(chunks.text_delta(self._part, text))
        else:
            self._thought.append(text)
            told.append(chunks.reasoning_delta(self._part, text))

    def _start(self, kind: Open, told: list[Chunk]) -> None:
        self._begin(told)
        self.close(told)
        self._parts += 1
        self._part = f"{self._prefix}.{self._parts}"
        self._open = kind
        self._thought = Pieces()
        self._thinking_since = time.monotonic()
        start = chunks.text_start if kind == "text" else chunks.reasoning_start
        told.append(start(self._part))

    def _seal(self, event: ReasoningData, told: list[Chunk]) -> None:
        """Ends a reasoning part, which keeps what its provider wants back; without text before it the part is empty."""
        if fault_of(event.data) is not None:
            return  # what cannot be kept to the letter would be refused when it is sent back
        if self._open != "reasoning":
            self._start("reasoning", told)
        kept = {"provider": clean_text(event.provider), "data": event.data}
        told.append(chunks.reasoning_end(self._part, {"retinue": {"reasoning": kept, **self._thinking_took()}}))
        self._open = None
        self.reasoning.append(Reasoning(self._thought.text(), kept["provider"], event.data))

    def _cite(self, event: Source, told: list[Chunk]) -> None:
        """A page that the answer rests on. It does not interrupt the text that is being written."""
        url = clean_text(event.url)
        if url in self._sources or not url.startswith(("https://", "http://")):
            return
        self._begin(told)
        self._sources.add(url)
        name = f"{self._prefix}.source.{len(self._sources)}"
        told.append(chunks.source_url(name, url, clean_text(event.title) or None))

    def _search(self, event: HostedSearchStart, told: list[Chunk]) -> None:
        self._begin(told)
        self.close(told)
        self._searched(event.id, "", told)  # an id that is begun again has ended
        call = self._searching[event.id] = HostedCall(clean_text(event.query))
        self.searches.append(call)
        told.append(chunks.tool_input_start(str(call.id), HOSTED_SEARCH, ours=True))

    def _searched(self, id: str, query: str, told: list[Chunk]) -> None:
        call = self._searching.pop(id, None)
        if call is None:
            return
        call.query = query or call.query
        told.append(chunks.tool_input_available(str(call.id), HOSTED_SEARCH, call.input, ours=True))
        told.append(chunks.tool_output_available(str(call.id), call.output, ours=True))

    def _finish(self, told: list[Chunk]) -> None:
        self.close(told)
        self.close_searches(told)
        for call in self.calls:
            told.append(chunks.tool_input_available(str(call.id), call.name, call.input, ours=True))
