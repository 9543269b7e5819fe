"""Chat completions, as OpenAI, OpenRouter and everybody's compatible server speak them."""

from collections.abc import Iterator
from typing import Any, ClassVar

from cli.dev.model.frames import Frame, Pause
from cli.dev.model.reply import PlayedCall
from cli.dev.model.script import Asked, asked_from
from cli.dev.model.wire import LATE, Wire, around, data, fragments


class ChatWire(Wire):
    name: ClassVar[str] = "chat"

    @classmethod
    def asked(cls, body: dict[str, Any], path: dict[str, str]) -> Asked:
        return asked_from(body)

    @classmethod
    def error(cls, status: int, message: str, code: str) -> dict[str, Any]:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "code": code}}

    def whole(self) -> dict[str, Any]:
        reply = self.reply
        message: dict[str, Any] = {"role": "assistant", "content": self.text() or None}
        if reply.reasoning:
            message[reply.reasoning_field] = self.thought()
        if reply.tools:
            message["tool_calls"] = [self._call(index, call) for index, call in enumerate(reply.tools)]
        answer = self._envelope("chat.completion")
        answer["choices"] = [{"index": 0, "message": message, "finish_reason": self.finish_word()}]
        if reply.usage != "none":
            answer["usage"] = self._usage()
        return answer

    def opening(self) -> Iterator[bytes]:
        yield self._event({"role": "assistant", "content": ""})

    def around(self, *, reasoning: bool) -> tuple[bytes, bytes]:
        return around(self._event({self.reply.reasoning_field if reasoning else "content": "\0"}))

    def calls(self) -> Iterator[bytes]:
        if self.reply.sources:
            cited = [
                {"type": "url_citation", "url_citation": {"url": url, "title": t}} for url, t in self.reply.sources
            ]
            yield self._event({"content": "", "annotations": cited})
        if self.reply.calls == "empty":
            yield self._event({"content": None, "tool_calls": []})
        for index, call in enumerate(self.reply.tools):
            whole = self._call(index, call)
            if self.reply.calls not in ("fragments", "empty"):
                if self.reply.calls == "no_index":
                    del whole["index"]
                elif self.reply.calls == "same_index":
                    whole["index"] = 0
                yield self._event({"tool_calls": [whole]})
                continue
            first = {**whole, "function": {"name": call.name, "arguments": ""}}
            yield self._event({"tool_calls": [first]})
            for piece in fragments(call.arguments):
                yield self._event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def ending(self) -> Iterator[Frame]:
        reply = self.reply
        usage = self._usage()
        if reply.finish != "none":
            yield self._event({}, self.finish_word(), usage=usage if reply.usage == "finish" else None)
        if reply.usage == "late":
            yield Pause(LATE)
        if reply.usage in ("last", "late") and self._usage_wanted:
            yield data({**self._envelope(), "choices": [], "usage": usage})
        if reply.done:
            yield b"data: [DONE]\n\n"

    def failure(self, message: str) -> bytes:
        return data({"error": {"message": message, "type": "server_error"}})

    @property
    def _usage_wanted(self) -> bool:
        options: dict[str, Any] = self.record.body.get("stream_options") or {}
        return bool(options.get("include_usage"))

    def _call(self, index: int, call: PlayedCall) -> dict[str, Any]:
        function = {"name": call.name, "arguments": call.arguments}
        return {"index": index, "id": self.call_id(index, call), "type": "function", "function": function}

    def _usage(self) -> dict[str, Any]:
        record = self.record
        usage: dict[str, Any] = {
            "prompt_tokens": record.prompt_tokens,
            "completion_tokens": record.tokens,
            "total_tokens": record.prompt_tokens + record.tokens,
            "prompt_tokens_details": {"cached_tokens": record.prompt_tokens // 2},
            "completion_tokens_details": {"reasoning_tokens": self.reply.reasoning},
        }
        if self.reply.cost is not None and record.body.get("usage", {}).get("include"):
            usage["cost"] = self.reply.cost
        return usage

    def _envelope(self, kind: str = "chat.completion.chunk") -> dict[str, Any]:
        record = self.record
        return {"id": f"chatcmpl-{record.number}", "object": kind, "created": int(record.at), "model": record.model}

    def _event(self, delta: dict[str, Any], finish: str | None = None, usage: dict[str, Any] | None = None) -> bytes:
        chunk = self._envelope()
        chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": finish}]
        if usage is not None:
            chunk["usage"] = usage
        return data(chunk)
