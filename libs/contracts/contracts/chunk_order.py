"""Whether a sequence of chunks is one that both SDKs understand alike: the ordering rules, checked one by one.

For tests and for writers that want to be told at once; the hot path does not pay for it. The rules are those of the
protocol, and stricter where SDK 6 and 7 differ (SDK 6 forgets open parts at `finish-step`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contracts.chunk_rules import ChunkError, check

_CONTENT = ("text-start", "reasoning-start", "tool-input-start", "tool-input-available", "tool-input-error")


@dataclass
class _CallSeen:
    name: str
    dynamic: bool
    executed: bool
    state: str  # streaming, cut (its step ended meanwhile), available, done


class Order:
    """Feed it every chunk of one message; it raises `ChunkError` at the first one that is out of place."""

    def __init__(self) -> None:
        self._message_id: str | None = None
        self._in_step = False
        self._ended: str | None = None
        self._open: set[tuple[str, str]] = set()
        self._calls: dict[str, _CallSeen] = {}

    @property
    def finished(self) -> bool:
        return self._ended == "finish"

    def add(self, chunk: Mapping[str, Any]) -> None:
        check(chunk)
        kind: str = chunk["type"]
        self._place(kind, chunk)
        family, _, phase = kind.rpartition("-")
        if family in ("text", "reasoning"):
            self._streamed(family, phase, chunk["id"])
        elif family == "tool-input":
            self._input(phase, chunk)
        elif kind.startswith("tool-"):
            self._output(kind, chunk)

    def _place(self, kind: str, chunk: Mapping[str, Any]) -> None:
        """Rule 1: start, then steps, then finish; nothing after it. Rule 5: nothing stays open at an abort."""
        if self._ended and not (kind == "finish" and self._ended != "finish"):
            raise ChunkError(f"{kind} after {self._ended}")
        if kind == "start":
            if self._message_id not in (None, chunk["messageId"]):
                raise ChunkError("start: another message in the same stream")
            self._message_id = chunk["messageId"]
        elif self._message_id is None:
            raise ChunkError(f"{kind} before start")
        if kind in _CONTENT and not self._in_step:
            raise ChunkError(f"{kind} outside of a step")
        if kind == "start-step":
            self._step(opens=True)
        elif kind == "finish-step":
            self._step(opens=False)
        elif kind in ("finish", "abort", "error"):
            self._end(kind)

    def _step(self, *, opens: bool) -> None:
        if self._in_step is opens:
            raise ChunkError("start-step inside a step" if opens else "finish-step outside of a step")
        if not opens:
            self._require_closed("finish-step")
            for call in self._calls.values():
                if call.state == "streaming":
                    call.state = "cut"
        self._in_step = opens

    def _end(self, kind: str) -> None:
        if kind != "error":
            self._require_closed(kind)
        if kind == "finish" and self._in_step and self._ended is None:
            raise ChunkError("finish inside a step")
        self._ended = kind

    def _require_closed(self, kind: str) -> None:
        if self._open:
            raise ChunkError(f"{kind} while open: {sorted(self._open)}")

    def _streamed(self, family: str, phase: str, part: str) -> None:
        """Rules 2 and 3: deltas and ends belong to an open part; ids are unique among open ones."""
        key = (family, part)
        if (phase == "start") is (key in self._open):
            raise ChunkError(f"{family}-{phase}: {part} is {'already' if phase == 'start' else 'not'} open")
        if phase == "start":
            self._open.add(key)
        elif phase == "end":
            self._open.remove(key)

    def _input(self, phase: str, chunk: Mapping[str, Any]) -> None:
        """Rule 4, and `dynamic`, name and executor the same all along."""
        call = self._calls.get(chunk["toolCallId"])
        if phase == "delta":
            if call is None or call.state != "streaming":
                raise ChunkError(f"tool-input-delta: {chunk['toolCallId']} is not streaming")
            return
        seen = _CallSeen(
            chunk["toolName"], bool(chunk.get("dynamic")), bool(chunk.get("providerExecuted")), "streaming"
        )
        if call is not None and (phase == "start" or call != seen):
            raise ChunkError(f"tool-input-{phase}: {chunk['toolCallId']} was begun as {call}")
        seen.state = {"start": "streaming", "available": "available", "error": "done"}[phase]
        self._calls[chunk["toolCallId"]] = seen

    def _output(self, kind: str, chunk: Mapping[str, Any]) -> None:
        """Rule 4: the call exists. A call whose input never became whole can only fail."""
        call = self._calls.get(chunk["toolCallId"])
        if call is None:
            raise ChunkError(f"{kind}: no call {chunk['toolCallId']}")
        if call.state in ("streaming", "cut") and kind != "tool-output-error":
            raise ChunkError(f"{kind}: the input of {chunk['toolCallId']} is not whole")
        as_begun = (bool(chunk.get("providerExecuted")), bool(chunk.get("dynamic"))) == (call.executed, call.dynamic)
        if kind in ("tool-output-available", "tool-output-error") and not as_begun:
            raise ChunkError(f"{kind}: executor or dynamic differs from the call's")
        if kind == "tool-approval-request":
            return
        call.state = "done"
