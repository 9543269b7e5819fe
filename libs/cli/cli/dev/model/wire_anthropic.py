"""Anthropic's messages: blocks that begin and end, named events, thinking that is signed and checked."""

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from cli.dev.model.frames import Frame, Pause
from cli.dev.model.reply import Reply
from cli.dev.model.script import Asked, asked_of, text_of
from cli.dev.model.served import Record
from cli.dev.model.signatures import is_ours, sign
from cli.dev.model.wire import LATE, Unacceptable, Wire, around, as_arguments, fragments, named

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
ERROR_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
CALL_ID = re.compile(r"^[a-zA-Z0-9_-]+$")


class AnthropicWire(Wire):
    name: ClassVar[str] = "anthropic"

    def __init__(self, reply: Reply, record: Record) -> None:
        super().__init__(reply, record)
        self._index = -1

    @classmethod
    def asked(cls, body: dict[str, Any], path: dict[str, str]) -> Asked:
        messages: list[dict[str, Any]] = body["messages"]
        last = max((i for i, message in enumerate(messages) if _is_of_user(message)), default=-1)
        tools: list[dict[str, Any]] = body.get("tools") or []
        hosted = [tool for tool in tools if str(tool.get("type", "")).startswith("web_search_")]
        return asked_of(
            body["model"],
            messages,
            user=text_of(messages[last]["content"]) if last >= 0 else "",
            step=sum(1 for message in messages[last + 1 :] if _blocks(message, "tool_use")),
            tools=tuple(tool["name"] for tool in tools if tool not in hosted),
            searches=bool(hosted),
            streams=bool(body.get("stream")),
        )

    @classmethod
    def check(cls, asked: Asked, body: dict[str, Any]) -> None:
        if not body.get("max_tokens"):
            raise Unacceptable("max_tokens: Field required")
        thinking: dict[str, Any] = body.get("thinking") or {}
        thinks = thinking.get("type") in ("enabled", "adaptive")
        if thinks and int(thinking.get("budget_tokens") or 0) >= body["max_tokens"]:
            raise Unacceptable("`max_tokens` must be greater than `thinking.budget_tokens`.")
        for at, message in enumerate(asked.messages):
            for block in _blocks(message, "thinking"):
                if not is_ours(block.get("signature"), cls.name, asked.model):
                    raise Unacceptable(f"messages.{at}.content.0: Invalid `signature` in `thinking` block")
            called = _blocks(message, "tool_use")
            if not called:
                continue
            if bad := next((block["id"] for block in called if not CALL_ID.match(block["id"])), None):
                raise Unacceptable(
                    f"messages.{at}.content.0.tool_use.id: String should match pattern '{CALL_ID.pattern}', not {bad!r}"
                )
            answers = _blocks(asked.messages[at + 1], "tool_result") if at + 1 < len(asked.messages) else []
            if {block["id"] for block in called} - {block["tool_use_id"] for block in answers}:
                raise Unacceptable(
                    f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after"
                )
        cls._check_last(asked, thinks=thinks)

    @classmethod
    def _check_last(cls, asked: Asked, *, thinks: bool) -> None:
        said = [message for message in asked.messages if message["role"] == "assistant"]
        if not (thinks and asked.step and said):
            return
        first = said[-1]["content"][0]["type"]
        if first not in ("thinking", "redacted_thinking"):
            at = asked.messages.index(said[-1])
            raise Unacceptable(
                f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, "
                f"but found `{first}`. When `thinking` is enabled, a final `assistant` message must start with a "
                "thinking block."
            )

    @classmethod
    def error(cls, status: int, message: str, code: str) -> dict[str, Any]:
        kind = ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}

    def whole(self) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        text = self.text()
        if self.reply.reasoning:
            thought = self.thought()
            content.append({"type": "thinking", "thinking": thought, "signature": self._signature()})
        if text:
            content.append({"type": "text", "text": text})
        for index, call in enumerate(self.reply.tools):
            call_id = self.call_id(index, call, "toolu_")
            content.append({"type": "tool_use", "id": call_id, "name": call.name, "input": as_arguments(call)})
        message = self._message(content)
        message["stop_reason"] = STOP_REASONS[self.finish_word()]
        message["usage"] = {**self._input_usage(), "output_tokens": self.record.tokens}
        return message

    def opening(self) -> Iterator[bytes]:
        message = self._message([])
        message["usage"] = {**self._input_usage(), "output_tokens": 1}
        yield named({"type": "message_start", "message": message})
        yield named({"type": "ping"})

    def begin(self, *, reasoning: bool) -> Iterator[bytes]:
        block = {"type": "thinking", "thinking": "", "signature": ""} if reasoning else {"type": "text", "text": ""}
        yield self._start(block)

    def around(self, *, reasoning: bool) -> tuple[bytes, bytes]:
        kind, field = ("thinking_delta", "thinking") if reasoning else ("text_delta", "text")
        return around(self._delta({"type": kind, field: "\0"}))

    def end(self, *, reasoning: bool) -> Iterator[bytes]:
        if reasoning:
            yield self._delta({"type": "signature_delta", "signature": self._signature()})
        else:
            for url, title in self.reply.sources:
                place = {"type": "web_search_result_location", "cited_text": title, "encrypted_index": "scripted"}
                yield self._delta({"type": "citations_delta", "citation": {**place, "url": url, "title": title}})
        yield self._stop()

    def search(self) -> Iterator[bytes]:
        use_id = f"srvtoolu_{self.record.number}"
        yield self._start({"type": "server_tool_use", "id": use_id, "name": "web_search", "input": {}})
        for piece in fragments(json.dumps({"query": self.reply.search})):
            yield self._delta({"type": "input_json_delta", "partial_json": piece})
        yield self._stop()
        results = [
            {"type": "web_search_result", "url": url, "title": title, "encrypted_content": "scripted", "page_age": None}
            for url, title in self.reply.sources
        ]
        yield self._start({"type": "web_search_tool_result", "tool_use_id": use_id, "content": results})
        yield self._stop()

    def calls(self) -> Iterator[bytes]:
        for index, call in enumerate(self.reply.tools):
            call_id = self.call_id(index, call, "toolu_")
            yield self._start({"type": "tool_use", "id": call_id, "name": call.name, "input": {}})
            pieces = fragments(call.arguments) if self.reply.calls == "fragments" else [call.arguments]
            for piece in ["", *pieces]:
                yield self._delta({"type": "input_json_delta", "partial_json": piece})
            yield self._stop()

    def ending(self) -> Iterator[Frame]:
        if self.reply.usage == "late":
            yield Pause(LATE)
        if self.reply.finish == "none":
            return
        delta = {"stop_reason": STOP_REASONS[self.finish_word()], "stop_sequence": None}
        usage: dict[str, Any] = {**self._input_usage(), "output_tokens": self.record.tokens}
        if self.reply.search and self.record.asked.searches:
            usage["server_tool_use"] = {"web_search_requests": 1}
        yield named({"type": "message_delta", "delta": delta, "usage": usage})
        if self.reply.done:
            yield named({"type": "message_stop"})

    def failure(self, message: str) -> bytes:
        return named({"type": "error", "error": {"type": "overloaded_error", "message": message}})

    def garbage(self) -> bytes:
        return b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta"\n\n'

    def _signature(self) -> str:
        return sign(self.name, self.record.model, self.thought())

    def _message(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        message: dict[str, Any] = {"id": f"msg_{self.record.number}", "type": "message", "role": "assistant"}
        return {
            **message,
            "model": self.record.model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {},
        }

    def _input_usage(self) -> dict[str, Any]:
        """`input_tokens` leaves out what came from the cache, and what was written into it."""
        total = self.record.prompt_tokens
        cached = total // 2
        return {"input_tokens": total - cached, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0}

    def _start(self, block: dict[str, Any]) -> bytes:
        self._index += 1
        return named({"type": "content_block_start", "index": self._index, "content_block": block})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return named({"type": "content_block_delta", "index": max(self._index, 0), "delta": delta})

    def _stop(self) -> bytes:
        return named({"type": "content_block_stop", "index": self._index})


def _is_of_user(message: dict[str, Any]) -> bool:
    return message["role"] == "user" and not _blocks(message, "tool_result")


def _blocks(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content: Any = message.get("content")
    return [block for block in content if block.get("type") == kind] if isinstance(content, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
