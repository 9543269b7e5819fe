"""Reading a stream as our own clients do: events into whole batches, batches into a message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pydantic_core import from_json

from contracts.batches import START, BatchId
from contracts.reducer import Reducer
from contracts.superseded import superseded

Chunk = dict[str, Any]


class WholeBatch(NamedTuple):
    """Events up to and with the one that carries an id."""

    id: BatchId
    chunks: list[Chunk]
    is_end: bool
    """It held `[DONE]`."""


class BatchReader:
    """Feed it bytes as they come; it yields batches when they are whole. What a broken connection cut off is lost."""

    def __init__(self) -> None:
        self._rest = b""
        self._chunks: list[Chunk] = []
        self._is_end = False
        self.loose: list[Chunk] = []
        """Chunks before the first batch that belong to none: where the turn stands in the line."""

    def feed(self, data: bytes) -> Iterator[WholeBatch]:
        *events, self._rest = (self._rest + data).split(b"\n\n")
        for event in events:
            batch = self._event(event)
            if batch is not None:
                yield batch

    def _event(self, event: bytes) -> WholeBatch | None:
        id: BatchId | None = None
        for line in event.split(b"\n"):
            if line.startswith(b"data: "):
                self._data(line[6:])
            elif line.startswith(b"id: "):
                id = BatchId.parse(line[4:].decode())
        if id is None:
            return None
        batch = WholeBatch(id, self._chunks, self._is_end)
        self._chunks = []
        return batch

    def _data(self, data: bytes) -> None:
        if data == b"[DONE]":
            self._is_end = True
            return
        chunk: Chunk = from_json(data)
        if chunk["type"] == "data-retinue-status":
            self.loose.append(chunk)
        else:
            self._chunks.append(chunk)


class Message:
    """A message as a client keeps it: what was superseded is taken out, a position stands for all before it."""

    def __init__(self) -> None:
        self.reducer = Reducer()
        self.position = START
        self.is_ended = False
        self.error: str | None = None
        self.is_aborted = False
        self.superseded = 0
        """How often something shown was taken back."""
        self._began: list[BatchId] = []

    def apply(self, batch: WholeBatch, on_chunk: Callable[[Chunk], None] | None = None) -> None:
        for chunk in batch.chunks:
            if chunk["type"] == "start" and chunk.get("messageId") != self.reducer.message_id:
                self._began.clear()
            self.reducer.apply(chunk)
            self._began += [batch.id] * (len(self.reducer) - len(self._began))
            self._notice(chunk)
            if on_chunk is not None:
                on_chunk(chunk)
        self.position = batch.id
        self.is_ended = self.is_ended or batch.is_end

    @property
    def shown(self) -> dict[str, Any]:
        """The `UIMessage`."""
        return self.reducer.message

    def _notice(self, chunk: Chunk) -> None:
        match chunk["type"]:
            case "error":
                self.error = chunk["errorText"]
            case "abort":
                self.is_aborted = True
            case "data-superseded":
                self._drop(chunk["data"]["epoch"], chunk["data"]["cut"])
            case _:
                return

    def _drop(self, epoch: int, cut: int) -> None:
        self.superseded += 1
        gone = superseded(self.reducer.parts, self._began, epoch, BatchId(epoch, cut))
        self.reducer.drop(gone)
        lost = frozenset(gone)
        self._began = [at for ordinal, at in enumerate(self._began) if ordinal not in lost]
