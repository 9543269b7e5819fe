"""What is known after a run: what was sent, done, seen, stored, logged and served. Data only; times are seconds of the
epoch on this machine's clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from contracts.batches import BatchId

FINAL = frozenset({"finished", "failed", "stopped"})


@dataclass
class Sent:
    """A message that somebody posted until it was answered."""

    key: str
    thread: str
    kind: str
    at: float
    turn: str | None = None
    """From the 2xx."""
    refused: str = ""
    was_stopped: bool = False
    """Somebody asked for that."""


@dataclass
class Seen:
    """What one viewer had at the end."""

    turn: str
    who: str
    message: dict[str, Any]
    is_ended: bool
    trouble: str = ""
    superseded: int = 0
    connections: int = 1


@dataclass
class Turn:
    """A row of `turns`."""

    id: str
    key: str | None
    thread: str
    message: str
    status: str
    ended_by: str | None
    epoch: int
    recoveries: int
    accepted_at: float
    ended_at: float | None


@dataclass
class Attempt:
    id: str
    turn: str
    epoch: int
    state: str
    outcome: str | None
    input_tokens: int | None
    output_tokens: int | None
    is_estimated: bool
    started_at: float
    ended_at: float | None


@dataclass
class Call:
    """A row of `tool_calls`."""

    id: str
    turn: str
    name: str
    state: str
    epoch: int
    started_at: float | None
    done_at: float | None


@dataclass
class LedgerRow:
    turn: str
    attempts: int
    input_tokens: int | None
    output_tokens: int | None
    is_estimated: bool


@dataclass
class Served:
    """A call as the model server saw it."""

    key: str
    at: float
    outcome: str
    input_tokens: int
    output_tokens: int
    text: str = ""
    """What it said until then, without its reasoning."""


@dataclass
class Logged:
    """A batch as the log has it."""

    id: BatchId
    cut: BatchId
    is_end: bool
    at: float
    body: bytes


@dataclass
class Mark:
    """A side effect that a tool had."""

    name: str
    pid: int
    at: float


@dataclass
class Holding:
    """An unfinished turn at the moment of a fault."""

    turn: str
    status: str
    epoch: int
    runner: str | None
    """The holder's name, as `retinue ps` has it."""
    is_newest: bool
    """False if a later process has the holder's name: the holder was dead already."""


@dataclass
class Struck:
    """A fault that happened. `name` is the process that was hit, `point` where it stood."""

    at: float
    kind: str
    name: str
    point: str = ""
    pid: int = 0
    holdings: list[Holding] = field(default_factory=list[Holding])
    back_at: float | None = None
    """When the process was ready again, or woke."""

    def __str__(self) -> str:
        place = f" at {self.point}" if self.point else ""
        return f"{self.kind} {self.name}{place}"


@dataclass
class World:
    sent: list[Sent] = field(default_factory=list[Sent])
    seen: list[Seen] = field(default_factory=list[Seen])
    turns: list[Turn] = field(default_factory=list[Turn])
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    calls: list[Call] = field(default_factory=list[Call])
    ledger: list[LedgerRow] = field(default_factory=list[LedgerRow])
    served: list[Served] = field(default_factory=list[Served])
    marks: list[Mark] = field(default_factory=list[Mark])
    struck: list[Struck] = field(default_factory=list[Struck])
    stored: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    """Thread -> its messages, as the API shows them."""
    log: dict[str, list[Logged]] = field(default_factory=dict[str, list[Logged]])
    """Turn -> its batches, in the order of the log."""
    unsent: int = 0
    """Outbox rows that nobody relayed."""

    def turn(self, id: str) -> Turn | None:
        return next((turn for turn in self.turns if turn.id == id), None)

    def named(self, key: str) -> list[Turn]:
        return [turn for turn in self.turns if turn.key == key]

    def around(self, turn: Turn | None) -> Iterator[Struck]:
        """The faults in a turn's life."""
        if turn is None:
            return
        until = turn.ended_at or float("inf")
        yield from (struck for struck in self.struck if turn.accepted_at - 1 <= struck.at <= until + 1)


@dataclass(frozen=True)
class Wrong:
    """A promise that was broken."""

    promise: str
    what: str
    turn: str | None = None
