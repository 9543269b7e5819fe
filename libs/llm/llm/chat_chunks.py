"""Chat-completion chunks into events: the reading half of the OpenAI wire, with the habits of its many imitators.

Written for speed where every token passes (`ChunkReader.read`) and for patience everywhere else: providers omit
indexes, send whole calls at once, repeat ids, put usage anywhere or nowhere, and end without saying so.
"""

from typing import Any
from uuid import uuid4

import orjson

from llm.errors import ModelError, StreamBroken
from llm.events import (
    Event,
    Finish,
    FinishReason,
    ReasoningData,
    ReasoningDelta,
    Served,
    Source,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from llm.refusals import refusal_in_stream
from llm.template import Template

DONE = b"[DONE]"

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "error": "error",
}


class _OpenCall:
    """A tool call whose fragments are still arriving. It is announced when its name is known."""

    __slots__ = ("announced", "held", "id", "index", "name")

    def __init__(self, index: int, call_id: str) -> None:
        self.index = index
        self.id = call_id
        self.name = ""
        self.announced = False
        self.held = ""


class ChunkReader:
    """Turns the data of one stream's events into our events, in order.

    usage:    what was reported last; providers that count along report it many times.
    begun:    whether any chunk was read.
    started:  whether anything of the answer has been yielded.
    done:     `[DONE]` was read.
    finished: the provider named a finish reason; all that may still come is usage.
    """

    __slots__ = (
        "_call_at",
        "_calls",
        "_details",
        "_origin",
        "_raw_finish",
        "_served",
        "_sources",
        "_template",
        "_thinks_in",
        "begun",
        "done",
        "model",
        "started",
        "usage",
    )

    def __init__(self, model: str, origin: str = "") -> None:
        """`origin` marks the reasoning, so that the next step can send it back; none, and it is not kept."""
        self.model = model
        self._origin = origin
        self._thinks_in = ""
        self._details: list[dict[str, Any]] = []
        self._sources: set[str] = set()
        self.usage: Usage | None = None
        self.begun = False
        self.started = False
        self.done = False
        self._served = False
        self._template = Template()
        self._raw_finish: str | None = None
        self._calls: list[_OpenCall] = []
        self._call_at: dict[int, _OpenCall] = {}

    @property
    def finished(self) -> bool:
        return self._raw_finish is not None

    def read(self, datas: list[bytes]) -> list[Event]:
        """Parse what one network read completed. Raises `StreamBroken` or what the provider's own error means."""
        events: list[Event] = []
        for data in datas:
            if text := self._template.text(data):
                events.append(TextDelta(text))
                continue
            if data == DONE:
                self.done = True
                break
            if not data:
                continue
            self.begun = True
            try:
                self._whole_chunk(data, events)
            except ModelError:
                raise
            except (ValueError, TypeError, AttributeError, LookupError) as error:
                raise StreamBroken(
                    f"{self.model}: the provider sent something that is not a chat completion",
                    reason="bad_data",
                    detail=f"{error!r} in {data[:300]!r}",
                    started=self.started or bool(events),
                ) from error
        return events

    def end(self) -> list[Event]:
        """The last events, once the stream is over. Raises `StreamBroken` if it ended without having finished."""
        if not self.finished and not self.done:
            raise StreamBroken(
                f"{self.model}: the provider ended the answer in the middle",
                reason="unfinished",
                detail="the stream ended cleanly, with neither a finish reason nor [DONE]",
                started=self.started,
            )
        events: list[Event] = []
        self._close_thought(events)
        for call in self._calls:
            if not call.announced:
                self._announce(call, events)
        if self._details and self._origin:
            events.append(ReasoningData(self._origin, {"details": self._details}))
        if self.usage is not None:
            events.append(self.usage)
        raw = self._raw_finish or ""
        reason = FINISH_REASONS.get(raw, "other")
        if self._calls and reason in ("stop", "other"):
            reason = "tool_calls"
        events.append(Finish(reason, raw))
        return events

    def whole(self, answer: dict[str, Any]) -> list[Event]:
        """The events of an answer that came in one piece from a provider that does not stream."""
        for choice in answer["choices"]:
            choice["delta"] = choice.pop("message")
        events: list[Event] = []
        self._chunk(answer, events)
        self.done = True
        return events + self.end()

    def _whole_chunk(self, data: bytes, events: list[Event]) -> None:
        """Parsed in full; a chunk that brings text and nothing else shows what the next ones may look like."""
        chunk, before = orjson.loads(data), len(events)
        self._chunk(chunk, events)
        if len(events) == before + 1 and type(said := events[-1]) is TextDelta and _is_only_text(chunk, self._served):
            self._template.learn(data, chunk, said.text)

    def _chunk(self, chunk: dict[str, Any], events: list[Event]) -> None:
        if not self._served:
            self._first(chunk, events)
        choices = chunk.get("choices")
        if choices:
            choice = choices[0]
            delta = choice.get("delta")
            if delta:
                text = delta.get("content")
                if text and len(delta) == 1 and type(text) is str and not self._thinks_in:
                    self.started = True
                    events.append(TextDelta(text))
                else:
                    self._delta(delta, events)
            raw = choice.get("finish_reason")
            if raw:
                self._raw_finish = str(raw)
        usage = chunk.get("usage")
        if usage:
            self.usage = _usage(usage)
        elif chunk.get("error"):
            raise refusal_in_stream(self.model, chunk["error"], started=self.started)

    def _first(self, chunk: dict[str, Any], events: list[Event]) -> None:
        served = chunk.get("model")
        if served:
            self._served = True
            events.append(Served(str(served), str(chunk.get("id") or "")))

    def _delta(self, delta: dict[str, Any], events: list[Event]) -> None:
        before = len(events)
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if reasoning and type(reasoning) is str:
            if not self._thinks_in:
                self._template = Template()  # the next text has to be seen, for it ends the reasoning
            self._thinks_in = "reasoning_content" if delta.get("reasoning_content") else "reasoning"
            events.append(ReasoningDelta(reasoning))
        if details := delta.get("reasoning_details"):
            self._keep(details)
        for text in (delta.get("content"), delta.get("refusal")):
            if not text:
                continue
            self._close_thought(events)
            if type(text) is str:
                events.append(TextDelta(text))
            else:
                _parts(text, events)
        for fragment in delta.get("tool_calls") or ():
            self.started = True
            self._close_thought(events)
            self._fragment(fragment, events)
        for annotation in delta.get("annotations") or ():
            self._annotation(annotation, events)
        self.started = self.started or len(events) > before

    def _close_thought(self, events: list[Event]) -> None:
        """Reasoning has ended: what has to go back with the next step, if it is not told by the provider in detail."""
        if self._thinks_in and self._origin and not self._details:
            events.append(ReasoningData(self._origin, {"field": self._thinks_in}))
        self._thinks_in = ""

    def _keep(self, details: list[dict[str, Any]]) -> None:
        """OpenRouter's account of the reasoning, in pieces with the same index: texts grow, signatures come once."""
        for piece in details:
            last = self._details[-1] if self._details else None
            if last is None or (last.get("index"), last["type"]) != (piece.get("index"), piece["type"]):
                self._details.append(dict(piece))
                continue
            for name, value in piece.items():
                is_text = name in ("text", "summary", "data") and isinstance(value, str)
                if is_text and isinstance(last.get(name), str):
                    last[name] += value
                elif value is not None:
                    last[name] = value

    def _annotation(self, annotation: dict[str, Any], events: list[Event]) -> None:
        cited: dict[str, Any] = annotation.get("url_citation") or {}
        url = cited.get("url")
        if url and url not in self._sources:
            self._sources.add(url)
            events.append(Source(url, str(cited.get("title") or "")))

    def _fragment(self, fragment: dict[str, Any], events: list[Event]) -> None:
        function: dict[str, Any] = fragment.get("function") or {}
        name = function.get("name") or ""
        call = self._call_of(fragment.get("index"), fragment.get("id") or "", name)
        if name and not call.announced:
            call.name = name
            self._announce(call, events)
        arguments = function.get("arguments")
        if arguments is None or arguments == "":
            return
        if type(arguments) is not str:
            arguments = orjson.dumps(arguments).decode()
        if call.announced:
            events.append(ToolCallDelta(call.index, arguments))
        else:
            call.held += arguments

    def _call_of(self, index: int | None, call_id: str, name: str) -> _OpenCall:
        call = self._call_at.get(index) if index is not None else (self._calls[-1] if self._calls else None)
        # A second call is told from a next fragment by its name: with another id, or with no index and no id at all.
        if call is not None and call.announced and name:
            another = call_id != call.id if call_id else index is None
            if another:
                call = None
        if call is None:
            call = _OpenCall(len(self._calls), call_id)
            self._calls.append(call)
        if call_id and not call.id:
            call.id = call_id
        if index is not None:
            self._call_at[index] = call
        return call

    def _announce(self, call: _OpenCall, events: list[Event]) -> None:
        call.announced = True
        # Some local servers give no ids; the transcript needs them, unique over all steps.
        call.id = call.id or f"call_{uuid4().hex}"
        events.append(ToolCallStart(call.index, call.id, call.name))
        if call.held:
            events.append(ToolCallDelta(call.index, call.held))


def _is_only_text(chunk: dict[str, Any], served: bool) -> bool:
    """Whether a chunk that yielded one text has changed nothing else: no usage, no finish, no piece of a call."""
    choice = chunk["choices"][0]
    is_silent = not (chunk.get("usage") or chunk.get("error") or choice.get("finish_reason"))
    others = ("tool_calls", "reasoning_details", "annotations")
    return is_silent and not any(map(choice["delta"].get, others)) and (served or not chunk.get("model"))


def _parts(content: list[dict[str, Any]], events: list[Event]) -> None:
    # Mistral sends lists of typed parts, its reasoning being lists within lists.
    for part in content:
        if part.get("type") == "text":
            if part["text"]:
                events.append(TextDelta(part["text"]))
        elif part.get("type") == "thinking":
            thought = "".join(inner.get("text", "") for inner in part["thinking"])
            if thought:
                events.append(ReasoningDelta(thought))


def _usage(usage: dict[str, Any]) -> Usage:
    prompt: dict[str, Any] = usage.get("prompt_tokens_details") or {}
    completion: dict[str, Any] = usage.get("completion_tokens_details") or {}
    cost = usage.get("cost")
    return Usage(
        input=int(usage.get("prompt_tokens") or 0),
        cached=int(prompt.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0),
        output=int(usage.get("completion_tokens") or 0),
        reasoning=int(completion.get("reasoning_tokens") or 0),
        cost=round(cost * 1_000_000) if isinstance(cost, int | float) else None,
    )
