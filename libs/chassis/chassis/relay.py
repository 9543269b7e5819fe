"""The outbox relay: what a transaction promised to say reaches the bus, soon if all is well and surely if not.

Two ways lead there. *In memory*: whoever committed rows hands them to `after_commit`, which publishes them at once,
without a query, and marks them in bulk later. *The sweep*: every second, and at once when the bus is back, unsent
rows of any process are taken with `SKIP LOCKED`, published and marked. A row may be published twice (a process dies
between the two); its id is the `Nats-Msg-Id`, so the stream keeps one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from chassis import logs, metrics
from contracts.hints import Hint
from store.system import outbox

_MARK_LINGER = 0.05  # seconds in which acknowledged rows gather, so that marking is one statement
_PRUNE_EVERY = 60.0
_PRUNE_BATCH = 1000
_LAST_WORDS = 1.0  # seconds that a stop waits for acknowledgements under way
_LONGEST_PAUSE = 10.0  # seconds between attempts at a row that the bus refuses
_GRUDGES = 10_000  # refused rows remembered at most

_RELAYED = metrics.counter("retinue_outbox_relayed_total", "outbox rows acknowledged by the bus", ("path",))
_FAILED = metrics.counter("retinue_outbox_failed_total", "publishes that failed and will be tried again", ("path",))
_LATENCY = metrics.histogram("retinue_outbox_ack_seconds", "from after_commit to the acknowledgement of the bus")
_OLDEST = metrics.gauge("retinue_outbox_oldest_seconds", "age of the oldest unsent row that the last sweep took")

log = logs.get(__name__)


class Row(Protocol):
    """An outbox row as the relay needs it."""

    @property
    def id(self) -> UUID: ...
    @property
    def subject(self) -> str: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def hint(self) -> Hint | None: ...


class Publish(Protocol):
    """Publish under `id` as `Nats-Msg-Id` and return when the stream has it; raise if it has not."""

    def __call__(
        self, subject: str, payload: bytes, id: UUID, headers: Mapping[str, str] | None = None, /
    ) -> Awaitable[object]: ...


class Tell(Protocol):
    """Say a hint to whoever listens; never raises for a bus that is away."""

    def __call__(self, hint: Hint, /) -> Awaitable[None]: ...


async def tell_nobody(_hint: Hint) -> None:
    """Where no pages are."""


class SystemStore(Protocol):
    """The part of `store.Store` that the relay uses."""

    def system(self) -> AbstractAsyncContextManager[Any]: ...


class Connected(Protocol):
    """Whether the bus can be reached now."""

    def __call__(self) -> bool: ...


@dataclass
class _Grudge:
    """A row the bus refused: how often, and when it is tried again (monotonic seconds)."""

    failures: int
    until: float


class OutboxRelay:
    """Relays the outbox of one process. `run` does the work; `after_commit` and `wake` never block.

    `sweep_every` seconds between sweeps of `batch` rows; rows younger than a sweep's pause are left to the process
    that wrote them. `in_flight` bounds what is published in memory at once. Sent rows go after `keep` seconds,
    facts after `keep_facts`.
    """

    def __init__(
        self,
        store: SystemStore,
        publish: Publish,
        *,
        tell: Tell = tell_nobody,
        connected: Connected = lambda: True,
        sweep_every: float = 1.0,
        batch: int = 200,
        in_flight: int = 1000,
        keep: float = 3600.0,
        keep_facts: float = 0.0,
    ) -> None:
        self._store = store
        self._publish = publish
        self._tell = tell
        self._connected = connected
        self._sweep_every = sweep_every
        self._batch = batch
        self._most_in_flight = in_flight
        self._keep = keep
        self._keep_facts = keep_facts
        self._wanted = asyncio.Event()
        self._acknowledged = asyncio.Event()
        self._acked: list[UUID] = []
        self._flying: dict[UUID, asyncio.Task[None]] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self._grudges: dict[UUID, _Grudge] = {}
        self._trouble = ""

    def after_commit(self, rows: Iterable[Row]) -> None:
        """Publish rows whose transaction has just committed. What does not fit, or fails, is left to the sweep."""
        begun = time.perf_counter()
        for row in rows:
            if len(self._flying) >= self._most_in_flight or not self._connected():
                continue
            task = asyncio.create_task(self._send_now(row, begun), name=f"outbox-{row.id}")
            self._flying[row.id] = task

    def hint(self, hint: Hint) -> None:
        """Tell a user's pages to look again; what no row says."""
        task = asyncio.create_task(self._hint(hint), name="hint")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    def wake(self) -> None:
        """Sweep at once, young rows and refused ones too: the bus is back."""
        self._grudges.clear()
        self._wanted.set()

    async def run(self) -> None:
        """Sweep, mark and prune until cancelled; then give what is under way a second to be acknowledged."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._sweep_for_ever(), name="outbox-sweep")
                group.create_task(self._mark_for_ever(), name="outbox-mark")
                group.create_task(self._prune_for_ever(), name="outbox-prune")
        finally:
            await self._last_words()

    async def sweep(self, older_than: float = 0.0) -> int:
        """Relay unsent rows at least `older_than` seconds old until none is left; returns how many were relayed."""
        relayed = 0
        while True:
            taken, sent = await self._sweep_batch(older_than)
            relayed += sent
            if taken < self._batch or not sent:
                return relayed

    async def _hint(self, hint: Hint) -> None:
        await self._tell(hint)

    async def _send_now(self, row: Row, begun: float) -> None:
        try:
            if row.hint is not None:
                await self._tell(row.hint)
            await self._publish(row.subject, row.payload, row.id, row.headers)
        except Exception as wrong:  # noqa: BLE001 - whatever the bus raises, the row is safe and the sweep comes
            _FAILED.labels(path="memory").inc()
            self._say(f"{type(wrong).__name__}: {wrong}")
        else:
            _LATENCY.observe(time.perf_counter() - begun)
            _RELAYED.labels(path="memory").inc()
            self._acked.append(row.id)
            self._acknowledged.set()
            self._say("")
        finally:
            self._flying.pop(row.id, None)

    async def _sweep_for_ever(self) -> None:
        while True:
            older_than = self._sweep_every
            try:
                async with asyncio.timeout(self._sweep_every):
                    await self._wanted.wait()
                older_than = 0.0
            except TimeoutError:
                pass  # nobody called: the regular sweep
            self._wanted.clear()
            if not self._connected():
                continue
            try:
                await self.sweep(older_than)
            except Exception as wrong:  # noqa: BLE001 - a database that is away is a pause; the next sweep tries again
                self._say(f"{type(wrong).__name__}: {wrong}")

    async def _sweep_batch(self, older_than: float) -> tuple[int, int]:
        """One transaction: take, publish, mark. Returns how many were taken and how many sent."""
        async with self._store.system() as session:
            rows = await outbox.take(session, self._batch, older_than=older_than, skip=self._skipped())
            _OLDEST.set(max((row.age for row in rows), default=0.0))
            sent = await self._publish_all(rows)
            if sent:
                await outbox.mark_sent(session, sent)
        _RELAYED.labels(path="sweep").inc(len(sent))
        return len(rows), len(sent)

    async def _publish_all(self, rows: list[outbox.Unsent]) -> list[UUID]:
        """Publish rows beside each other; those that fail are skipped for a while, so that none blocks the rest."""
        calls = (self._publish(row.subject, row.payload, row.id, row.headers) for row in rows)
        results = await asyncio.gather(*calls, return_exceptions=True)
        sent: list[UUID] = []
        for row, result in zip(rows, results, strict=True):
            if not isinstance(result, BaseException):
                self._grudges.pop(row.id, None)
                sent.append(row.id)
            elif isinstance(result, Exception):
                self._refused(row, result)
            else:
                raise result
        if sent:
            self._say("")
        return sent

    def _refused(self, row: outbox.Unsent, wrong: Exception) -> None:
        _FAILED.labels(path="sweep").inc()
        failures = self._grudges[row.id].failures + 1 if row.id in self._grudges else 1
        pause = min(self._sweep_every * 2 ** min(failures - 1, 6), _LONGEST_PAUSE)
        if len(self._grudges) >= _GRUDGES:
            self._grudges.clear()
        self._grudges[row.id] = _Grudge(failures, time.monotonic() + pause)
        if failures in (1, 5) or failures % 100 == 0:
            log.warning(
                "outbox row not relayed",
                row=str(row.id),
                subject=row.subject,
                failures=failures,
                reason=f"{type(wrong).__name__}: {wrong}",
            )

    def _skipped(self) -> list[UUID]:
        """Rows on their way in memory, acknowledged but not yet marked, or refused a moment ago."""
        now = time.monotonic()
        self._grudges = {id: grudge for id, grudge in self._grudges.items() if grudge.until + 60 > now}
        sulking = (id for id, grudge in self._grudges.items() if grudge.until > now)
        return [*self._flying, *self._acked, *sulking]

    async def _mark_for_ever(self) -> None:
        while True:
            await self._acknowledged.wait()
            await asyncio.sleep(_MARK_LINGER)
            try:
                await self._mark()
            except Exception as wrong:  # noqa: BLE001 - the ids are kept; marking waits until the database is back
                self._say(f"{type(wrong).__name__}: {wrong}")
                await asyncio.sleep(self._sweep_every)

    async def _mark(self) -> None:
        self._acknowledged.clear()
        ids = list(self._acked)
        if not ids:
            return
        try:
            async with self._store.system() as session:
                await outbox.mark_sent(session, ids)
        except BaseException:
            self._acknowledged.set()
            raise
        # Only now: until the commit, a sweep of ours must go on skipping them. New ones were appended behind.
        del self._acked[: len(ids)]

    async def _prune_for_ever(self) -> None:
        while True:
            await asyncio.sleep(_PRUNE_EVERY)
            try:
                await self._prune()
            except Exception as wrong:  # noqa: BLE001 - pruning is housekeeping; the next minute tries again
                self._say(f"{type(wrong).__name__}: {wrong}")

    async def _prune(self) -> None:
        dropped = _PRUNE_BATCH
        while dropped >= _PRUNE_BATCH:
            async with self._store.system() as session:
                dropped = await outbox.prune(session, self._keep, _PRUNE_BATCH, facts_older_than=self._keep_facts)

    async def _last_words(self) -> None:
        if self._flying:
            await asyncio.wait(set(self._flying.values()), timeout=_LAST_WORDS)
        for task in list(self._flying.values()):
            task.cancel()
        try:
            async with asyncio.timeout(_LAST_WORDS):
                await self._mark()
        except Exception as wrong:  # noqa: BLE001 - another relay's sweep publishes them again, and the stream drops them
            log.warning("rows left unmarked", rows=len(self._acked), reason=type(wrong).__name__)

    def _say(self, trouble: str) -> None:
        """Say once that relaying fails, and once that it works again."""
        if bool(trouble) != bool(self._trouble):
            if trouble:
                log.warning("outbox waits", reason=trouble)
            else:
                log.info("outbox relays again")
        self._trouble = trouble
