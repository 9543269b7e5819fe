"""What is sent and when, whatever the wire: lazy frames, so that stamps are made when they are sent."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cli.dev.model.reply import Reply
from cli.dev.model.served import Record
from cli.dev.model.words import seed_of, words


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


@dataclass(slots=True)
class Token:
    """A piece of the answer as a JSON string, quotes included."""

    json: bytes
    reasoning: bool = False


def tokens(reply: Reply, record: Record) -> Iterator[Token]:
    """The pieces of reasoning and text, made one by one."""
    for piece in thoughts(reply, record):
        yield Token(b'"%s"' % piece.encode(), reasoning=True)
    if reply.stamp:
        for number in range(reply.words):
            yield Token(b'"%d:%d "' % (number, time.monotonic_ns()))
        return
    for piece in pieces(reply, record):
        record.said.append(piece)
        yield Token(json.dumps(piece).encode())


def thoughts(reply: Reply, record: Record) -> Iterator[str]:
    """The reasoning, cut as it is streamed."""
    return words(reply.reasoning, seed_of(record.hash) + 1)


def pieces(reply: Reply, record: Record) -> Iterator[str]:
    """The text of the answer, cut as it is streamed."""
    if reply.text is None:
        yield from words(reply.words, seed_of(record.hash))
        return
    for number, word in enumerate(reply.text.split(" ")):
        if number or word:
            yield f" {word}" if number else word
