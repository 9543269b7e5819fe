"""Chunks as the bytes that a browser reads: server-sent events, with the batch's id on the last event only.

A native client applies a batch when it is whole, so the id that it remembers always stands for everything before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import to_json

from contracts.batches import BatchId

DONE = b"[DONE]"
Chunk = Mapping[str, Any]


def event(data: bytes, id: BatchId | None = None) -> bytes:
    """One chunk (JSON without line breaks, or `DONE`) as a server-sent event."""
    if id is None:
        return b"data: %b\n\n" % data
    return b"id: %d.%d\ndata: %b\n\n" % (id.epoch, id.number, data)


def frame(chunks: Iterable[Chunk], id: BatchId, *, done: bool = False) -> bytes:
    """A batch's body. `done` closes it with the SDK's `[DONE]`; an empty batch that is not done is a ValueError."""
    lines = [to_json(chunk) for chunk in chunks]
    if done:
        lines.append(DONE)
    if not lines:
        raise ValueError("a batch holds at least one event")
    if len(lines) == 1:  # as most batches of a paced stream are
        return event(lines[0], id)
    *first, last = lines
    return b"".join([*(event(line) for line in first), event(last, id)])
