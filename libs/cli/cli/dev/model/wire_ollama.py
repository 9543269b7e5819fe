"""Ollama's `/api/chat`: JSON lines, calls whole and without ids, usage in the last line."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar

from cli.dev.model.frames import Frame, Pause
from cli.dev.model.reply import PlayedCall
from cli.dev.model.script import Asked, asked_of
from cli.dev.model.wire import LATE, Unacceptable, Wire, around, as_arguments

DONE_REASONS = {"length": "length"}


class OllamaWire(Wire):
    name: ClassVar[str] = "ollama"
    content_type: ClassVar[str] = "application/x-ndjson"

    @classmethod
    def asked(cls, body: dict[str, Any], path: dict[str, str]) -> Asked:
        messages: list[dict[str, Any]] = body["messages"]
        last = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=-1)
        tools: list[dict[str, Any]] = body.get("tools") or []
        return asked_of(
            body["model"],
            messages,
            user=str(messages[last].get("content") or "") if last >= 0 else "",
            step=sum(1 for message in messages[last + 1 :] if message.get("tool_calls")),
            tools=tuple(tool["function"]["name"] for tool in tools),
            streams=bool(body.get("stream", True)),
        )

    @classmethod
    def check(cls, asked: Asked, body: dict[str, Any]) -> None:
        for message in asked.messages:
            for call in message.get("tool_calls") or ():
                if not isinstance(call["function"]["arguments"], dict):
                    raise Unacceptable(
                        "json: cannot unmarshal string into Go struct field "
                        "ChatRequest.messages.tool_calls.function.arguments of type api.ToolCallFunctionArguments"
                    )

    @classmethod
    def error(cls, status: int, message: str, code: str) -> dict[str, Any]:
        return {"error": message}

    def whole(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text()}
        if self.reply.reasoning:
            message["thinking"] = self.thought()
        if self.reply.tools:
            message["tool_calls"] = [_call(index, call) for index, call in enumerate(self.reply.tools)]
        return {**self._envelope(), "message": message, **self._last()}

    def opening(self) -> Iterator[bytes]:
        return iter(())

    def around(self, *, reasoning: bool) -> tuple[bytes, bytes]:
        said = {"content": "", "thinking": "\0"} if reasoning else {"content": "\0"}
        return around(self._line(said))

    def calls(self) -> Iterator[bytes]:
        for index, call in enumerate(self.reply.tools):
            yield self._line({"content": "", "tool_calls": [_call(index, call)]})

    def ending(self) -> Iterator[Frame]:
        if self.reply.usage == "late":
            yield Pause(LATE)
        if self.reply.finish != "none":
            message = {"role": "assistant", "content": ""}
            yield _line({**self._envelope(), "message": message, **self._last()})

    def failure(self, message: str) -> bytes:
        return _line({"error": message})

    def garbage(self) -> bytes:
        return b'{"model": "m", "message": {"content"\n'

    def _line(self, message: dict[str, Any]) -> bytes:
        return _line({**self._envelope(), "message": {"role": "assistant", **message}, "done": False})

    def _envelope(self) -> dict[str, Any]:
        at = datetime.fromtimestamp(self.record.at, UTC).isoformat().replace("+00:00", "Z")
        return {"model": self.record.model, "created_at": at}

    def _last(self) -> dict[str, Any]:
        last: dict[str, Any] = {"done": True, "done_reason": DONE_REASONS.get(self.finish_word(), "stop")}
        if self.reply.usage != "none":
            last |= {"prompt_eval_count": self.record.prompt_tokens, "eval_count": self.record.tokens}
        return last


def _call(index: int, call: PlayedCall) -> dict[str, Any]:
    played: dict[str, Any] = {"function": {"index": index, "name": call.name, "arguments": as_arguments(call)}}
    return {"id": call.id, **played} if call.id else played


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
