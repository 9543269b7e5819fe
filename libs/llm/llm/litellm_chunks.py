"""litellm's chunks into our events: what Anthropic and Gemini say, once litellm has put it into OpenAI's words."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from llm.events import (
    Event,
    Finish,
    FinishReason,
    HostedSearchEnd,
    HostedSearchStart,
    ReasoningData,
    ReasoningDelta,
    Served,
    Source,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)

REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "error": "error",
}


class ChunkReader:
    """Turns the chunks of one stream into events, in order.

    usage:   what the provider reported last.
    started: whether anything of the answer has been yielded.
    """

    def __init__(self, origin: str) -> None:
        self.usage: Usage | None = None
        self.started = False
        self._origin = origin
        self._served = False
        self._finish: str | None = None
        self._letters: dict[int, int] = {}
        self._calls: dict[int, tuple[int, str]] = {}
        self._kept: set[str] = set()
        self._sources: set[str] = set()
        self._searches: set[str] = set()
        self._searched: set[str] = set()
        self._server: dict[str, Any] = {}

    def read(self, chunk: Any) -> list[Event]:
        """The events of one chunk."""
        events: list[Event] = []
        if not self._served and getattr(chunk, "model", None):
            self._served = True
            events.append(Served(str(chunk.model), str(chunk.id or "")))
        for choice in chunk.choices[:1]:
            if choice.finish_reason:
                self._finish = str(choice.finish_reason)
            if choice.delta is not None:
                self._delta(choice.delta, events)
        return events

    def note_usage(self, chunks: Iterable[Any]) -> None:
        """Take the usage from the chunks as they came: where there was none, litellm makes one up at the end."""
        for chunk in chunks:
            if (usage := getattr(chunk, "usage", None)) is not None:
                self.usage = _usage(usage)

    def end(self, grounding: Iterable[Mapping[str, Any]] = ()) -> list[Event]:
        """The last events of a stream that has come to its end; `grounding` is what Gemini says of its searches."""
        raw = self._finish or ""
        reason = REASONS.get(raw, "other")
        if self._calls and reason == "stop":
            reason = "tool_calls"
        events: list[Event] = []
        for metadata in grounding:
            self._grounding(metadata, events)
        if self._server:
            # In the same turn Anthropic wants its own searches back, or it does not know its signatures again.
            self._data({"server": self._server}, events)
        if self.usage:
            events.append(self.usage)
        return [*events, Finish(reason, raw)]

    def _delta(self, delta: Any, events: list[Event]) -> None:
        fields: Mapping[str, Any] = getattr(delta, "provider_specific_fields", None) or {}
        if thought := getattr(delta, "reasoning_content", None):
            events.append(ReasoningDelta(thought))
            self.started = True
        for block in getattr(delta, "thinking_blocks", None) or ():
            self._thinking(block, events)
        if delta.content:
            events.append(TextDelta(delta.content))
            self.started = True
        for call in getattr(delta, "tool_calls", None) or ():
            self._tool_call(call, events)
        for signature in fields.get("thought_signatures") or ():
            self._keep(signature, {"signature": signature}, events)
        if invocations := fields.get("server_side_tool_invocations"):
            self._data({"invocations": invocations}, events)
        for name in ("server_tool_calls", "web_search_results"):
            if fields.get(name):
                self._server[name] = list(fields[name])
        calls: Mapping[str, Any] = fields.get("web_search_calls") or {}
        for call_id, call in calls.items():
            query: str = call["action"].get("query") or ""
            self._search(call_id, query, call["status"] != "in_progress", events)
        if citation := fields.get("citation"):
            self._source(citation.get("url"), citation.get("title"), events)

    def _thinking(self, block: Mapping[str, Any], events: list[Event]) -> None:
        """A piece of a thinking block of Anthropic's; its signature, which comes last, closes it."""
        if block.get("type") == "redacted_thinking":
            self._data({"redacted": block.get("data")}, events)
            return
        index = block.get("index")
        if not isinstance(index, int):
            # Gemini's thoughts carry no signature of their own that would be wanted back.
            return
        self._letters[index] = self._letters.get(index, 0) + len(block.get("thinking") or "")
        if signature := block.get("signature"):
            self._data({"signature": signature, "length": self._letters[index]}, events)

    def _tool_call(self, call: Any, events: list[Event]) -> None:
        known = self._calls.get(call.index)
        if known is None:
            known = (len(self._calls), call.id or f"call_{uuid4().hex}")
            self._calls[call.index] = known
            events.append(ToolCallStart(known[0], known[1], call.function.name or ""))
            self.started = True
        if arguments := call.function.arguments:
            events.append(ToolCallDelta(known[0], arguments))
        fields: Mapping[str, Any] = getattr(call, "provider_specific_fields", None) or {}
        if signature := fields.get("thought_signature"):
            self._keep(signature, {"call": known[1], "signature": signature}, events)

    def _keep(self, signature: str, data: dict[str, Any], events: list[Event]) -> None:
        # The signature of a call is told twice: with the call, and among those of the message.
        if signature not in self._kept:
            self._kept.add(signature)
            self._data(data, events)

    def _data(self, data: dict[str, Any], events: list[Event]) -> None:
        events.append(ReasoningData(self._origin, data))

    def _grounding(self, metadata: Mapping[str, Any], events: list[Event]) -> None:
        for query in metadata.get("webSearchQueries") or ():
            self._search(f"search: {query}", query, True, events)
        for piece in metadata.get("groundingChunks") or ():
            web: Mapping[str, str] = piece.get("web") or {}
            self._source(web.get("uri"), web.get("title"), events)

    def _search(self, call_id: str, query: str, is_over: bool, events: list[Event]) -> None:
        if call_id not in self._searches and (query or is_over):
            self._searches.add(call_id)
            events.append(HostedSearchStart(call_id, query))
        if is_over and call_id not in self._searched:
            self._searched.add(call_id)
            events.append(HostedSearchEnd(call_id, query))

    def _source(self, url: str | None, title: str | None, events: list[Event]) -> None:
        if url and url not in self._sources:
            self._sources.add(url)
            events.append(Source(url, title or ""))


def _usage(usage: Any) -> Usage:
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    hosted = getattr(usage, "server_tool_use", None)
    searches = getattr(prompt, "web_search_requests", None) or getattr(hosted, "web_search_requests", None)
    return Usage(
        input=_number(usage.prompt_tokens),
        cached=_number(getattr(prompt, "cached_tokens", None)),
        output=_number(usage.completion_tokens),
        reasoning=_number(getattr(completion, "reasoning_tokens", None)),
        written=_number(getattr(prompt, "cache_creation_tokens", None)),
        searches=_number(searches),
    )


def _number(value: Any) -> int:
    return int(value or 0)
