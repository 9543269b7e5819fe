"""The writer of the chunk log: batches, their numbers and cut, acknowledgements, publishing again.

One `TurnLog` a turn. Chunks gather in a batch for a moment (`Pace`), get a number, and go out at once; each batch is
kept until the log has acknowledged it, and is published again under the same number after a reconnect or a lost
acknowledgement. A broker that is away delays a turn; it never fails one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from nats.aio.client import Client
from nats.errors import Error as NatsError

from bus.publish import AckedPublisher
from chassis import logs, metrics
from contracts.batches import HEADER_SIZE, BatchId, pack
from contracts.frames import frame
from contracts.reducer import Reducer
from contracts.subjects import MAX_PAYLOAD, log_subject

Chunk = Mapping[str, Any]

log = logs.get(__name__)

PUBLISH_AGAIN_AFTER = 2.0
"""Seconds without an acknowledgement after which a batch is published again."""

_BATCHES = metrics.counter("retinue_log_batches_total", "batches published to the log")
_AGAIN = metrics.counter("retinue_log_batches_again_total", "batches published again")

_MOST = MAX_PAYLOAD - 64 * 1024
"""Bytes of a message; what is left below the broker's limit is for headers."""

_DELTAS = {"text-delta": "delta", "reasoning-delta": "delta"}


class BatchTooLarge(Exception):
    """A single batch would come near the broker's limit; refused where it is made."""


class Pace:
    """How long chunks may gather: not at all after a pause, longer when they come quickly or the loop is late."""

    CLOSE = 0.03
    """Chunks nearer than this (seconds) count as coming quickly."""
    QUICK = 0.04
    LONGEST = 0.1

    def __init__(self, longest: float = LONGEST) -> None:
        self._longest = longest
        self.lag = 0.0
        """Smoothed lateness of the event loop, in seconds."""

    async def watch(self) -> None:
        """Measures the loop's lateness until cancelled."""
        step = 0.02
        while True:
            begun = time.monotonic()
            await asyncio.sleep(step)
            late = max(0.0, time.monotonic() - begun - step)
            self.lag += 0.2 * (late - self.lag)

    def window(self, previous: float, gap: float) -> float:
        """The next window of a turn whose last one was `previous` and whose chunks are `gap` apart."""
        busy = self.lag * 4 if self.lag > 0.01 else 0.0
        quick = min(self.QUICK, max(0.01, previous * 1.25)) if gap < self.CLOSE else 0.0
        return min(self._longest, max(busy, quick))


@dataclass(slots=True)
class _Kept:
    """A batch that the log has not acknowledged yet."""

    id: BatchId
    message: bytes
    ticket: str | None = None
    sent: float = 0.0


class Logs:
    """The logs of one runner: shares a connection, publishes again what was lost."""

    def __init__(self, client: Client, publisher: AckedPublisher, pace: Pace, *, most_unacknowledged: int) -> None:
        self.client = client
        self.publisher = publisher
        self.pace = pace
        self.most_unacknowledged = most_unacknowledged
        self._open: set[TurnLog] = set()

    def open(self, turn_id: UUID, message_id: UUID, epoch: int, cut: BatchId) -> TurnLog:
        opened = TurnLog(self, turn_id, message_id, epoch, cut)
        self._open.add(opened)
        return opened

    def closed(self, ended: TurnLog) -> None:
        self._open.discard(ended)

    async def publish_again(self, *, older_than: float = 0.0) -> None:
        """Publishes what is unacknowledged for longer than `older_than` seconds; all of it after a reconnect."""
        for each in list(self._open):
            await each.publish_again(older_than)

    async def keep_publishing(self) -> None:
        """Looks for lost acknowledgements until cancelled."""
        while True:
            await asyncio.sleep(PUBLISH_AGAIN_AFTER / 4)
            if self.client.is_connected:
                await self.publish_again(older_than=PUBLISH_AGAIN_AFTER)


class TurnLog:
    """The log of one turn in one runner's hands. `reducer` holds the message as clients build it."""

    def __init__(self, logs: Logs, turn_id: UUID, message_id: UUID, epoch: int, cut: BatchId) -> None:
        self.reducer = Reducer(str(message_id))
        self._logs = logs
        self._subject = log_subject(turn_id)
        self._epoch = epoch
        self._cut = cut
        self._number = cut.number
        self._pending: list[Chunk] = []
        self._pending_since = 0.0
        self._flushed = 0.0
        self._written = 0.0
        self._window = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._kept: dict[int, _Kept] = {}
        self._kept_bytes = 0
        self._progress = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    @property
    def position(self) -> BatchId:
        """The last batch that was made."""
        return BatchId(self._epoch, self._number)

    @property
    def cut(self) -> BatchId:
        return self._cut

    @property
    def has_failed(self) -> bool:
        """Something could not be said; until `supersede` nothing more can be."""
        return self._failure is not None

    async def write(self, chunks: Iterable[Chunk]) -> None:
        """Adds chunks in order; waits only while too much is unacknowledged. Raises `BatchTooLarge`."""
        if self._failure is not None:
            raise self._failure
        self._pending += chunks
        moment = time.monotonic()
        gap, self._written = moment - self._written, moment
        self._window = self._logs.pace.window(self._window, gap)
        due = self._flushed + self._window
        if moment >= due:
            await self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(
                asyncio.get_running_loop().time() + due - moment, self._flush_later
            )
        while self._kept_bytes > self._logs.most_unacknowledged:
            self._progress.clear()
            await self._progress.wait()

    async def write_batch(self, chunks: Iterable[Chunk]) -> None:
        """Writes chunks as a batch of their own."""
        await self._flush()
        self._pending += chunks
        await self._flush()

    async def settle(self) -> BatchId:
        """Ends the batch and waits until the log has everything: what a commit may name."""
        await self._flush()
        while self._kept:
            self._progress.clear()
            await self._progress.wait()
        if self._failure is not None:
            raise self._failure
        return self.position

    def restore(self, parts: Iterable[dict[str, Any]]) -> None:
        """The message is this up to the cut; to be said before anything is written beyond it."""
        self.reducer = Reducer(self.reducer.message_id, parts)

    def supersede(self, epoch: int, cut: BatchId, parts: int) -> None:
        """Goes on in a higher epoch after `cut`: what was written beyond it no longer counts.

        `parts` is how many parts the message had at the cut.
        """
        self._forget()
        self._failure = None
        self._epoch, self._cut, self._number = epoch, cut, cut.number
        self.reducer.drop(range(parts, len(self.reducer)))

    def close(self) -> None:
        """The turn has ended or is lost; nothing of it is published any more."""
        self._forget()
        self._logs.closed(self)

    async def publish_again(self, older_than: float) -> None:
        moment = time.monotonic()
        for kept in list(self._kept.values()):
            if moment - kept.sent >= older_than:
                if kept.ticket is not None:
                    self._logs.publisher.forget(kept.ticket)
                    _AGAIN.inc()
                await self._publish(kept)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._pending.clear()
        for kept in self._kept.values():
            if kept.ticket is not None:
                self._logs.publisher.forget(kept.ticket)
        self._kept.clear()
        self._kept_bytes = 0
        self._progress.set()

    def _flush_later(self) -> None:
        self._timer = None
        task = asyncio.get_running_loop().create_task(self._flush())
        self._sending.add(task)
        task.add_done_callback(self._sent_later)

    def _sent_later(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        if not task.cancelled() and (wrong := task.exception()) is not None:
            self._failure = wrong  # the next write raises it, inside the turn
            self._progress.set()

    async def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        try:
            batches = self._batches(pending)
        except BatchTooLarge as wrong:
            self._failure = wrong  # whoever flushed: what was to be said is gone, and no commit may pass over that
            raise
        for kept in batches:
            await self._publish(kept)

    def _batches(self, pending: list[Chunk]) -> list[_Kept]:
        """The next batch; what gathered so fast that one cannot carry it becomes several.

        Raises `BatchTooLarge` if a single chunk is beyond the limit; then nothing of it all is said.
        """
        chunks = _merged(pending)
        id = BatchId(self._epoch, self._number + 1)
        message = pack(id, self._cut, frame(chunks, id))
        if len(message) > _MOST:
            for chunk in pending:
                _refuse_large(chunk, id)
            middle = len(pending) // 2
            return self._batches(pending[:middle]) + self._batches(pending[middle:])
        for chunk in chunks:
            self.reducer.apply(chunk)
        self._number = id.number
        self._flushed = time.monotonic()
        kept = _Kept(id, message)
        self._kept[id.number] = kept
        self._kept_bytes += len(message)
        _BATCHES.inc()
        return [kept]

    async def _publish(self, kept: _Kept) -> None:
        kept.sent = time.monotonic()
        kept.ticket = None
        if not self._logs.client.is_connected:
            return  # kept; the reconnect publishes it
        try:
            kept.ticket = await self._logs.publisher.publish(self._subject, kept.message, self._on_ack(kept))
        except (NatsError, OSError) as wrong:
            log.debug("batch kept back", subject=self._subject, reason=repr(wrong))

    def _on_ack(self, kept: _Kept) -> Callable[[bool], None]:
        def acknowledged(stored: bool) -> None:
            if not stored or self._kept.get(kept.id.number) is not kept:
                return  # refused: published again later; or of an epoch that no longer counts
            del self._kept[kept.id.number]
            self._kept_bytes -= len(kept.message)
            if not self._kept or self._kept_bytes <= self._logs.most_unacknowledged:
                self._progress.set()

        return acknowledged


def _refuse_large(chunk: Chunk, id: BatchId) -> None:
    size = len(frame([chunk], id))
    if size + HEADER_SIZE > _MOST:
        raise BatchTooLarge(f"{size:,} bytes, of at most {_MOST:,}")


def _merged(chunks: list[Chunk]) -> list[Chunk]:
    """Neighbouring deltas of one part become one: fewer bytes to encode, copy and parse."""
    if len(chunks) < 2:
        return chunks
    merged: list[Chunk] = []
    for chunk in chunks:
        key = _DELTAS.get(chunk["type"])
        if key and merged and merged[-1]["type"] == chunk["type"] and merged[-1]["id"] == chunk["id"]:
            merged[-1] = {**merged[-1], key: merged[-1][key] + chunk[key]}
        else:
            merged.append(chunk)
    return merged
