"""A reply on a wire: what every provider's stream has in common. Each wire says how its parts look, in its own file."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from cli.dev.model.frames import Break, Frame, Paced, Pause, pieces, thoughts, tokens
from cli.dev.model.reply import PlayedCall, Reply
from cli.dev.model.script import Asked
from cli.dev.model.served import Record

BREAKS = ("reset", "cut", "hang", "garbage", "error")
LATE = 0.3  # seconds after the finish that a late usage takes


class Unacceptable(Exception):
    """The request breaks a rule of the wire that the real provider enforces; answered with 400."""


class Wire(ABC):
    """One reply to one request on this wire. The class methods are about requests, the others make the stream."""

    name: ClassVar[str]
    content_type: ClassVar[str] = "text/event-stream"

    def __init__(self, reply: Reply, record: Record) -> None:
        self.reply = reply
        self.record = record

    @classmethod
    @abstractmethod
    def asked(cls, body: dict[str, Any], path: dict[str, str]) -> Asked:
        """What a request asks; `path` are the parts of its address. Raises `KeyError` and the like if it is none."""

    @classmethod
    def check(cls, asked: Asked, body: dict[str, Any]) -> None:
        """Raises `Unacceptable` for what the real provider would refuse; here, nothing."""
        return

    @classmethod
    @abstractmethod
    def error(cls, status: int, message: str, code: str) -> dict[str, Any]:
        """The body of a refusal."""

    @abstractmethod
    def whole(self) -> dict[str, Any]:
        """The answer to a request that is not to be streamed."""

    @abstractmethod
    def opening(self) -> Iterator[bytes]:
        """What comes before the first token."""

    @abstractmethod
    def around(self, *, reasoning: bool) -> tuple[bytes, bytes]:
        """What stands before and after the JSON string of a token."""

    def begin(self, *, reasoning: bool) -> Iterator[bytes]:
        """A run of reasoning or of text begins."""
        return iter(())

    def end(self, *, reasoning: bool) -> Iterator[bytes]:
        """It is over."""
        return iter(())

    def search(self) -> Iterator[bytes]:
        """The provider searches the web, between reasoning and text."""
        return iter(())

    @abstractmethod
    def calls(self) -> Iterator[bytes]:
        """The tool calls."""

    @abstractmethod
    def ending(self) -> Iterator[Frame]:
        """Finish reason and usage."""

    @abstractmethod
    def failure(self, message: str) -> bytes:
        """An error in the middle of the stream."""

    def garbage(self) -> bytes:
        """Something that is no event of this wire."""
        return b'data: {"id": "chatcmpl", "choices": [{"delta"\n\n'

    def frames(self) -> Iterator[Frame]:
        """The events of the streamed reply. Counts in the record what was taken, token by token."""
        if not self.reply.crlf:
            yield from self._frames()
            return
        for frame in self._frames():
            yield type(frame)(frame.replace(b"\n", b"\r\n")) if isinstance(frame, bytes) else frame

    def _frames(self) -> Iterator[Frame]:
        reply, record = self.reply, self.record
        is_sse = self.content_type == "text/event-stream"
        if reply.comments and is_sse:
            yield b": the scripted model is thinking\n\n"
        yield from self.opening()
        if reply.think:
            yield Pause(reply.think)
        breaks = {
            kind: at
            for kind in ("reset", "cut", "hang", "garbage", "error")
            if (at := getattr(reply, kind)) is not None
        }
        searches = bool(reply.search) and record.asked.searches
        run: bool | None = None
        head = tail = b""
        for token in tokens(reply, record):
            if breaks and (broken := self._break(breaks)):
                yield from broken
                if isinstance(broken[-1], Break):
                    return
            if token.reasoning is not run:
                if run is not None:
                    yield from self.end(reasoning=run)
                if searches and not token.reasoning:
                    searches = False
                    yield from self.search()
                run = token.reasoning
                yield from self.begin(reasoning=run)
                head, tail = self.around(reasoning=run)
            record.tokens += 1
            yield Paced(head + token.json + tail)
            if reply.comments and is_sse and record.tokens % 5 == 0:
                yield b": still there\n\n"
        if breaks and (broken := self._break(breaks, over=True)):
            yield from broken
            return
        if run is not None:
            yield from self.end(reasoning=run)
        if searches:
            yield from self.search()
        yield from self.calls()
        yield from self.ending()

    def _break(self, breaks: dict[str, int], *, over: bool = False) -> list[Frame]:
        for kind, at in breaks.items():
            if self.record.tokens != at and not (over and self.record.tokens < at):
                continue
            if kind == "reset":
                # The pause lets the half chunk arrive: a reset overtakes what is still in the buffers.
                return [self.around(reasoning=False)[0] + b'"and in the mid', Pause(0.03), Break("reset")]
            if kind == "garbage":
                return [self.garbage(), Break("hang")]
            if kind == "error":
                return [self.failure("The server had an error while processing your request"), Break("cut")]
            return [Break("cut" if kind == "cut" else "hang")]
        return []

    def text(self) -> str:
        """The whole text of a reply that is not streamed; counts it as said."""
        said = list(pieces(self.reply, self.record))
        self.record.tokens = self.reply.reasoning + len(said)
        self.record.said += said
        return "".join(said)

    def thought(self) -> str:
        """The whole reasoning."""
        return "".join(thoughts(self.reply, self.record))

    def call_id(self, index: int, call: PlayedCall, prefix: str = "call_") -> str:
        return call.id or f"{prefix}{self.record.hash}_{self.record.number}_{index}"

    def finish_word(self) -> str:
        """`stop`, `length`, `tool_calls`, `content_filter` or `none`, which each wire says in its own words."""
        return self.reply.finish or ("tool_calls" if self.reply.tools else "stop")


def around(make: bytes) -> tuple[bytes, bytes]:
    """What is before and after the JSON string of one NUL in an event."""
    head, _, tail = make.partition(b'"\\u0000"')
    return head, tail


def data(value: Any) -> bytes:
    """An event of a stream that has no names of events."""
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def named(value: dict[str, Any]) -> bytes:
    """An event of a stream whose events are named as their type is."""
    return b"event: %b\n" % value["type"].encode() + data(value)


def fragments(text: str) -> list[str]:
    """Arguments in three pieces, as they arrive."""
    size = max(1, -(-len(text) // 3))
    return [text[at : at + size] for at in range(0, len(text), size)]


def as_arguments(call: PlayedCall) -> dict[str, Any]:
    """The arguments for wires that carry objects only; malformed ones become an object that fits no schema."""
    try:
        found: Any = json.loads(call.arguments)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"malformed": call.arguments}  # pyright: ignore[reportUnknownVariableType]
