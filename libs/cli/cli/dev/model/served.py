"""What the server served, request by request, and the waiting for it: tests ask here instead of sleeping."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from cli.dev.model.reply import Reply
from cli.dev.model.script import Asked

SHOWN_APART = ("model", "tools", "messages", "input", "contents")


@dataclass(slots=True)
class Record:
    """One request.

    outcome: `running`; `finished`; `cancelled` (the client closed the connection first, perhaps during `hang` or
    `silence`); the fault that was played (`status 429`, `html`, `reset`, `cut`); or `failed`, our own fault.
    Times are `time.monotonic_ns()`, which all processes of a machine share; `ended_ns` of a cancelled request is when
    its closed connection was noticed.
    """

    number: int
    asked: Asked
    reply: Reply
    body: dict[str, Any]
    with_key: bool
    wire: str = "chat"
    at: float = field(default_factory=time.time)
    started_ns: int = field(default_factory=time.monotonic_ns)
    ended_ns: int = 0
    tokens: int = 0
    outcome: str = "running"
    said: list[str] = field(default_factory=list[str])

    @property
    def model(self) -> str:
        return self.asked.model

    @property
    def hash(self) -> str:
        return self.asked.hash

    @property
    def prompt_tokens(self) -> int:
        return len(str(self.asked.messages)) // 4

    def as_json(self) -> dict[str, Any]:
        """What `GET /served` shows."""
        others = {name: value for name, value in self.body.items() if name not in SHOWN_APART}
        return {
            "number": self.number,
            "at": self.at,
            "started_ns": self.started_ns,
            "ended_ns": self.ended_ns or None,
            "ms": round((self.ended_ns - self.started_ns) / 1e6, 1) if self.ended_ns else None,
            "outcome": self.outcome,
            "wire": self.wire,
            "model": self.model,
            "user": self.asked.user,
            "step": self.asked.step,
            "hash": self.hash,
            "stream": self.asked.streams,
            "with_key": self.with_key,
            "tools": list(self.asked.tools),
            "searches": self.asked.searches,
            "request": others,
            "messages": self.asked.messages,
            "reply": self.reply.changed(),
            "tokens": self.tokens,
            "text": "".join(self.said),
        }


class Served:
    """The last `keep` records, in order, and whoever waits for the next."""

    def __init__(self, keep: int) -> None:
        self._records: deque[Record] = deque(maxlen=keep)
        self._number = 0
        self._changed = asyncio.Event()

    def begin(self, asked: Asked, reply: Reply, body: dict[str, Any], *, with_key: bool, wire: str = "chat") -> Record:
        """Open the record of a request."""
        self._number += 1
        record = Record(self._number, asked, reply, body, with_key, wire)
        self._records.append(record)
        self._tell()
        return record

    def end(self, record: Record, outcome: str) -> None:
        """Close a record."""
        record.outcome = outcome
        record.ended_ns = time.monotonic_ns()
        self._tell()

    def clear(self) -> None:
        """Forget all; numbers run on."""
        self._records.clear()
        self._tell()

    def find(self, fits: Callable[[Record], bool]) -> list[Record]:
        """The records that fit, oldest first."""
        return [record for record in self._records if fits(record)]

    async def wait(self, fits: Callable[[Record], bool], started: int, ended: int, seconds: float) -> bool:
        """Wait until so many fitting requests have begun and so many have ended; False if that takes too long."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    found = self.find(fits)
                    if len(found) >= started and sum(1 for record in found if record.ended_ns) >= ended:
                        return True
                    await self._changed.wait()
        except TimeoutError:
            return False

    async def follow(self) -> AsyncIterator[Record]:
        """Each record as it begins and again as it ends, from now on."""
        seen: dict[int, str] = {record.number: record.outcome for record in self._records}
        while True:
            await self._changed.wait()
            for record in list(self._records):
                if seen.get(record.number) != record.outcome:
                    seen[record.number] = record.outcome
                    yield record

    def _tell(self) -> None:
        # Wakes all who wait now; who comes later waits for the next change.
        self._changed.set()
        self._changed = asyncio.Event()
