"""Lines of Ollama's `/api/chat` into events: the reading half."""

from typing import Any
from uuid import uuid4

import orjson

from llm.events import (
    Event,
    Finish,
    FinishReason,
    ReasoningDelta,
    Served,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from llm.json_reader import JsonReader
from llm.refusals import refusal_in_stream

FINISH_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length"}


class OllamaReader(JsonReader):
    """Reads one answer. Calls come whole; what has no id gets one."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._served = False
        self._calls = 0
        self._raw = ""

    def whole(self, answer: dict[str, Any]) -> list[Event]:
        events: list[Event] = []
        self._take(answer, events)
        return events + self.end()

    def _take(self, value: Any, events: list[Event]) -> None:
        if value.get("error"):
            raise refusal_in_stream(self.model, value["error"], started=self.has_started(events))
        if not self._served and value.get("model"):
            self._served = True
            events.append(Served(str(value["model"]), ""))
        message: dict[str, Any] = value.get("message") or {}
        if thought := message.get("thinking"):
            events.append(ReasoningDelta(thought))
        if text := message.get("content"):
            events.append(TextDelta(text))
        for call in message.get("tool_calls") or ():
            self._call(call, events)
        if value.get("done"):
            self._over(value)

    def _call(self, call: dict[str, Any], events: list[Event]) -> None:
        function: dict[str, Any] = call["function"]
        arguments: Any = function.get("arguments")
        call_id = str(call.get("id") or f"call_{uuid4().hex}")
        events.append(ToolCallStart(self._calls, call_id, str(function.get("name") or "")))
        if arguments:
            text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
            events.append(ToolCallDelta(self._calls, text))
        self._calls += 1

    def _over(self, value: dict[str, Any]) -> None:
        self._raw = str(value.get("done_reason") or "stop")
        if "eval_count" in value or "prompt_eval_count" in value:
            into, out = value.get("prompt_eval_count") or 0, value.get("eval_count") or 0
            self.usage = Usage(input=int(into), cached=0, output=int(out), reasoning=0)
        self._finished = self.done = True

    def _last(self) -> list[Event]:
        reason = FINISH_REASONS.get(self._raw, "other")
        finish = Finish("tool_calls" if self._calls and reason in ("stop", "other") else reason, self._raw)
        return [*([self.usage] if self.usage else []), finish]
