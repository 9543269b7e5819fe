"""Events of OpenAI's Responses wire into ours: the reading half."""

from collections.abc import Callable
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
from llm.json_reader import JsonReader
from llm.refusals import refusal_in_stream

INCOMPLETE: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesReader(JsonReader):
    """Reads one answer. `origin` marks the reasoning items, which go back with the next step (see `reasoning`)."""

    def __init__(self, model: str, origin: str) -> None:
        super().__init__(model)
        self._origin = origin
        self._finish: Finish | None = None
        self._call_at: dict[Any, int] = {}
        self._told: dict[int, bool] = {}  # per call, whether fragments of its arguments have come
        self._said = False
        self._thought: Any = None  # which part of a summary was last added to
        self._sources: set[str] = set()
        self._searches: set[str] = set()
        self._charged = 0  # searches proper: opening a page that was found costs nothing
        self._takes: dict[str, Callable[[dict[str, Any], list[Event]], None]] = {
            "response.output_text.delta": self._text,
            "response.refusal.delta": self._text,
            "response.reasoning_summary_text.delta": self._thinks,
            "response.reasoning_text.delta": self._thinks,
            "response.function_call_arguments.delta": self._arguments,
            "response.output_item.added": self._item_begins,
            "response.output_item.done": self._item_ends,
            "response.output_text.annotation.added": self._annotation,
            "response.created": self._created,
            "response.completed": self._completed,
            "response.incomplete": self._completed,
            "response.failed": self._failed,
            "error": self._failed,
        }

    def whole(self, answer: dict[str, Any]) -> list[Event]:
        events: list[Event] = []
        self._created({"response": answer}, events)
        for item in answer["output"]:
            self._whole_item(item, events)
        self._completed({"response": answer}, events)
        return events + self.end()

    def _take(self, value: Any, events: list[Event]) -> None:
        take = self._takes.get(value["type"])
        if take is not None:
            take(value, events)

    def _created(self, event: dict[str, Any], events: list[Event]) -> None:
        response: dict[str, Any] = event["response"]
        events.append(Served(str(response.get("model") or ""), str(response.get("id") or "")))

    def _text(self, event: dict[str, Any], events: list[Event]) -> None:
        if event["delta"]:
            self._said = True
            events.append(TextDelta(event["delta"]))

    def _thinks(self, event: dict[str, Any], events: list[Event]) -> None:
        if not event["delta"]:
            return
        part = (event.get("item_id"), event.get("summary_index"), event.get("content_index"))
        # The parts of a summary are paragraphs, each with its own heading.
        between = "\n\n" if self._thought is not None and self._thought[0] == part[0] and self._thought != part else ""
        self._thought = part
        events.append(ReasoningDelta(between + event["delta"]))

    def _item_begins(self, event: dict[str, Any], events: list[Event]) -> None:
        item: dict[str, Any] = event["item"]
        if item["type"] == "function_call":
            self._call_begins(event.get("output_index"), item, events)
        elif item["type"] == "web_search_call":
            self._search_begins(item, events)

    def _call_begins(self, at: Any, item: dict[str, Any], events: list[Event]) -> int:
        index = len(self._told)
        self._call_at[at] = index
        self._told[index] = False
        call_id = str(item.get("call_id") or item.get("id") or f"call_{uuid4().hex}")
        events.append(ToolCallStart(index, call_id, str(item.get("name") or "")))
        return index

    def _arguments(self, event: dict[str, Any], events: list[Event]) -> None:
        index = self._call_at[event.get("output_index")]
        if event["delta"]:
            self._told[index] = True
            events.append(ToolCallDelta(index, event["delta"]))

    def _search_begins(self, item: dict[str, Any], events: list[Event]) -> None:
        self._searches.add(item["id"])
        events.append(HostedSearchStart(item["id"], _query(item)))

    def _item_ends(self, event: dict[str, Any], events: list[Event]) -> None:
        item: dict[str, Any] = event["item"]
        kind = item["type"]
        if kind == "reasoning":
            self._keep(item, events)
        elif kind == "function_call":
            index = self._call_at.get(event.get("output_index"))
            if index is None:
                index = self._call_begins(event.get("output_index"), item, events)
            if not self._told[index] and item.get("arguments"):
                self._told[index] = True
                events.append(ToolCallDelta(index, item["arguments"]))
        elif kind == "web_search_call":
            if item["id"] not in self._searches:
                self._search_begins(item, events)
            events.append(HostedSearchEnd(item["id"], _query(item)))
            action: dict[str, Any] = item.get("action") or {}
            self._charged += action.get("type", "search") == "search"
            for source in action.get("sources") or ():
                self._source(source, events)
            self._keep(item, events)

    def _keep(self, item: dict[str, Any], events: list[Event]) -> None:
        """The item as it has to go back, and its place: what it stood before must follow it again."""
        kept = {name: value for name, value in item.items() if value is not None}
        events.append(ReasoningData(self._origin, {"item": kept, "calls": len(self._told), "said": self._said}))

    def _annotation(self, event: dict[str, Any], events: list[Event]) -> None:
        if event["annotation"].get("type") == "url_citation":
            self._source(event["annotation"], events)

    def _source(self, source: dict[str, Any], events: list[Event]) -> None:
        url = source.get("url")
        if url and url not in self._sources:
            self._sources.add(url)
            events.append(Source(url, str(source.get("title") or "")))

    def _whole_item(self, item: dict[str, Any], events: list[Event]) -> None:
        at = object()
        self._item_begins({"item": item, "output_index": at}, events)
        for number, part in enumerate(item.get("summary") or ()):
            self._thinks({"delta": part["text"], "item_id": item.get("id"), "summary_index": number}, events)
        if item["type"] == "message":
            for part in item["content"]:
                self._text({"delta": part.get("text") or part.get("refusal") or ""}, events)
                for annotation in part.get("annotations") or ():
                    self._annotation({"annotation": annotation}, events)
        self._item_ends({"item": item, "output_index": at}, events)

    def _completed(self, event: dict[str, Any], events: list[Event]) -> None:
        response: dict[str, Any] = event["response"]
        if response.get("error"):
            self._failed(event, events)
        if usage := response.get("usage"):
            self.usage = _usage(usage, self._charged)
        why: dict[str, Any] = response.get("incomplete_details") or {}
        raw = str(why.get("reason") or response.get("status") or "completed")
        reason: FinishReason = INCOMPLETE.get(raw, "stop" if raw == "completed" else "other")
        self._finish = Finish("tool_calls" if self._told and reason == "stop" else reason, raw)
        self._finished = self.done = True

    def _failed(self, event: dict[str, Any], events: list[Event]) -> None:
        error: Any = event.get("response", event).get("error") or event
        raise refusal_in_stream(self.model, error, started=self.has_started(events))

    def _last(self) -> list[Event]:
        assert self._finish is not None
        return [*([self.usage] if self.usage else []), self._finish]


def _query(item: dict[str, Any]) -> str:
    action: dict[str, Any] = item.get("action") or {}
    queries: list[str] = action.get("queries") or []
    return str(action.get("query") or ", ".join(queries) or action.get("url") or "")


def _usage(usage: dict[str, Any], searches: int) -> Usage:
    into: dict[str, Any] = usage.get("input_tokens_details") or {}
    out: dict[str, Any] = usage.get("output_tokens_details") or {}
    return Usage(
        input=int(usage.get("input_tokens") or 0),
        cached=int(into.get("cached_tokens") or 0),
        output=int(usage.get("output_tokens") or 0),
        reasoning=int(out.get("reasoning_tokens") or 0),
        searches=searches,
    )
