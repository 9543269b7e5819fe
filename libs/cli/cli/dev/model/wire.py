"""A reply as the bytes of the chat-completions wire: lazy frames, so that stamps are made when they are sent."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from cli.dev.model.reply import PlayedCall, Reply
from cli.dev.model.served import Record
from cli.dev.model.words import seed_of, words

LATE = 0.3  # seconds after the finish that a late usage takes


@dataclass(slots=True, frozen=True)
class Pause:
    """Wait this many seconds, beyond the pace."""

    seconds: float


@dataclass(slots=True, frozen=True)
class Break:
    """Nothing more comes: the connection is reset, ended cleanly, or left open in silence."""

    kind: Literal["reset", "cut", "hang"]


class Paced(bytes):
    """A frame that carries a token: what follows waits for the pace. Other frames are followed at once."""

    __slots__ = ()


Frame = bytes | Pause | Break


def frames(reply: Reply, record: Record) -> Iterator[Frame]:
    """The events of a streamed reply. Counts in the record what was taken, token by token."""
    line = b"\r\n" if reply.crlf else b"\n"
    for frame in _frames(reply, record):
        if isinstance(frame, bytes):
            frame = frame if line == b"\n" else type(frame)(frame.replace(b"\n", line))
        yield frame


def _frames(reply: Reply, record: Record) -> Iterator[Frame]:
    head, tail = _around(record)
    if reply.comments:
        yield b": the scripted model is thinking\n\n"
    yield _event(record, {"role": "assistant", "content": ""})
    if reply.think:
        yield Pause(reply.think)
    breaks = {
        kind: at for kind in ("reset", "cut", "hang", "garbage", "error") if (at := getattr(reply, kind)) is not None
    }
    for token in tokens(reply, record):
        if broken := _break(breaks, record, head):
            yield from broken
            if isinstance(broken[-1], Break):
                return
        record.tokens += 1
        yield Paced(head[token.reasoning] + token.json + tail)
        if reply.comments and record.tokens % 5 == 0:
            yield b": still there\n\n"
    if broken := _break(breaks, record, head, over=True):
        yield from broken
        return
    yield from _calls(reply, record)
    yield from _end(reply, record)


@dataclass(slots=True)
class Token:
    """A piece of the answer as a JSON string, quotes included."""

    json: bytes
    reasoning: bool = False


def tokens(reply: Reply, record: Record) -> Iterator[Token]:
    """The pieces of reasoning and text, made one by one."""
    seed = seed_of(record.hash)
    for piece in words(reply.reasoning, seed + 1):
        yield Token(b'"%s"' % piece.encode(), reasoning=True)
    if reply.stamp:
        for number in range(reply.words):
            yield Token(b'"%d:%d "' % (number, time.monotonic_ns()))
        return
    for piece in pieces(reply, record):
        record.said.append(piece)
        yield Token(json.dumps(piece).encode())


def pieces(reply: Reply, record: Record) -> Iterator[str]:
    """The text of the answer, cut as it is streamed."""
    if reply.text is None:
        yield from words(reply.words, seed_of(record.hash))
        return
    for number, word in enumerate(reply.text.split(" ")):
        if number or word:
            yield f" {word}" if number else word


def whole(reply: Reply, record: Record) -> dict[str, Any]:
    """The answer to a request without `stream`."""
    text = "".join(pieces(reply, record))
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if reply.reasoning:
        message[reply.reasoning_field] = "".join(words(reply.reasoning, seed_of(record.hash) + 1))
    if reply.tools:
        message["tool_calls"] = [_call(record, i, call) for i, call in enumerate(reply.tools)]
    record.tokens = reply.reasoning + sum(1 for _ in pieces(reply, record))
    record.said.append(text)
    answer = _envelope(record, "chat.completion")
    answer["choices"] = [{"index": 0, "message": message, "finish_reason": _finish(reply)}]
    if reply.usage != "none":
        answer["usage"] = _usage(reply, record)
    return answer


def _around(record: Record) -> tuple[dict[bool, bytes], bytes]:
    # The bytes around a token's text, made once for a stream.
    reasoning_field = record.reply.reasoning_field
    both: dict[bool, bytes] = {}
    tail = b""
    for reasoning, name in ((False, "content"), (True, reasoning_field)):
        head, _, tail = _event(record, {name: "\0"}).partition(b'"\\u0000"')
        both[reasoning] = head
    return both, tail


def _break(breaks: dict[str, int], record: Record, head: dict[bool, bytes], *, over: bool = False) -> list[Frame]:
    for kind, at in breaks.items():
        if record.tokens != at and not (over and record.tokens < at):
            continue
        half = head[False] + b'"and in the mid'
        if kind == "reset":
            # The pause lets the half chunk arrive: a reset overtakes what is still in the buffers.
            return [half, Pause(0.03), Break("reset")]
        if kind == "garbage":
            return [b'data: {"id": "chatcmpl", "choices": [{"delta"\n\n', Break("hang")]
        if kind == "error":
            error = {"message": "The server had an error while processing your request", "type": "server_error"}
            return [b"data: " + json.dumps({"error": error}).encode() + b"\n\n", Break("cut")]
        return [Break("cut" if kind == "cut" else "hang")]
    return []


def _calls(reply: Reply, record: Record) -> Iterator[bytes]:
    for index, call in enumerate(reply.tools):
        whole = _call(record, index, call)
        if reply.calls != "fragments":
            if reply.calls == "no_index":
                del whole["index"]
            elif reply.calls == "same_index":
                whole["index"] = 0
            yield _event(record, {"tool_calls": [whole]})
            continue
        first = {**whole, "function": {"name": call.name, "arguments": ""}}
        yield _event(record, {"tool_calls": [first]})
        size = max(1, -(-len(call.arguments) // 3))
        for at in range(0, len(call.arguments), size):
            fragment = {"index": index, "function": {"arguments": call.arguments[at : at + size]}}
            yield _event(record, {"tool_calls": [fragment]})


def _end(reply: Reply, record: Record) -> Iterator[Frame]:
    usage = _usage(reply, record)
    if reply.finish != "none":
        together = usage if reply.usage == "finish" else None
        yield _event(record, {}, _finish(reply), usage=together)
    if reply.usage == "late":
        yield Pause(LATE)
    if reply.usage in ("last", "late") and record.usage_wanted:
        yield b"data: " + json.dumps({**_envelope(record), "choices": [], "usage": usage}).encode() + b"\n\n"
    if reply.done:
        yield b"data: [DONE]\n\n"


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.tools else "stop")


def _call(record: Record, index: int, call: PlayedCall) -> dict[str, Any]:
    call_id = call.id or f"call_{record.hash}_{record.number}_{index}"
    function = {"name": call.name, "arguments": call.arguments}
    return {"index": index, "id": call_id, "type": "function", "function": function}


def _usage(reply: Reply, record: Record) -> dict[str, Any]:
    return {
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.tokens,
        "total_tokens": record.prompt_tokens + record.tokens,
        "prompt_tokens_details": {"cached_tokens": record.prompt_tokens // 2},
        "completion_tokens_details": {"reasoning_tokens": reply.reasoning},
    }


def _envelope(record: Record, kind: str = "chat.completion.chunk") -> dict[str, Any]:
    return {"id": f"chatcmpl-{record.number}", "object": kind, "created": int(record.at), "model": record.model}


def _event(
    record: Record, delta: dict[str, Any], finish: str | None = None, usage: dict[str, Any] | None = None
) -> bytes:
    chunk = _envelope(record)
    chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": finish}]
    if usage is not None:
        chunk["usage"] = usage
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"
