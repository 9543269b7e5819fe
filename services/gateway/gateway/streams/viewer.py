"""One connection's place in one turn's log: what is queued for its socket, and what to do when that is not enough.

Live batches arrive in `hear`, which does as little as possible: compare a number, append bytes, wake the writer.
Whatever needs Postgres or the stored log happens in `run`, the only coroutine that writes to the socket.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from chassis import logs
from contracts.batches import Batch, BatchId
from contracts.chunks import KEEP_ALIVE
from contracts.turns import TurnStatus
from gateway.streams import notes
from gateway.streams.follower import Close, Deliver, Fetch, Fill, Follower, Reset, Row, Step, Supersede
from gateway.streams.limits import StreamLimits
from gateway.streams.log import PAGE, LogAway, LogReader
from gateway.streams.rows import TurnBusy, TurnGone, TurnRow
from store import StoreAway
from store.turns import TurnState

_FIRST_RETRY, _LAST_RETRY = 0.1, 5.0

log = logs.get(__name__)


class Broken(Exception):
    """The stream cannot go on: the connection must break, so that the client does not take it for the end."""


class Socket(Protocol):
    """Where a viewer writes."""

    async def send(self, data: bytes) -> None:
        """Returns when the transport takes more."""
        ...

    def send_now(self, data: bytes) -> bool:
        """Whether the transport could take it at once; what one turn of the loop gives it leaves in one write."""
        ...

    def unsent(self) -> int:
        """Bytes that the transport still holds, or -1 if it does not tell."""
        ...

    def abort(self) -> None:
        """Break the connection now."""
        ...


class Viewer:
    """One reader of one turn, from a position on."""

    def __init__(self, row: TurnRow, reader: LogReader, limits: StreamLimits, position: BatchId) -> None:
        self.turn_id = row.turn_id
        self.follower = Follower(position, held_batches=limits.held_batches, read_ahead=limits.read_ahead)
        self.is_gone = False
        """Nobody reads any more."""
        self._row = row
        self._log = reader
        self._limits = limits
        self._queue: list[bytes] = []
        self._queued_bytes = 0
        self._is_detached = False
        self._is_looking = False
        self._needs_look = True
        self._knows_log = False
        """Whether the log was read to its end once, or was empty when we began to listen."""
        self._looking: asyncio.Task[None] | None = None
        self._has_looked = False
        self._looked: Row | None = None
        self._failure: Exception | None = None
        self._retry = 0.0
        self._retry_at = 0.0
        self._waker: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._quiet_since = self._wrote_at = self._loop.time()
        self._needs_beat = False
        self._socket: Socket | None = None
        self._writing_since: float | None = None
        self._unsent = -1
        self._said_waiting: int | None = None

    def expects_all(self) -> None:
        """The subscription was there before the turn: neither its row nor the stored log can hold anything yet."""
        self._needs_look = False
        self._knows_log = True

    # Called by the hub, never blocking

    def hear(self, batch: Batch) -> None:
        """A batch of the live subject."""
        self._quiet_since = self._loop.time()
        if self._is_detached:
            self.follower.miss()
            return
        if self.follower.take(batch):
            if self._sent_now(batch.body):
                return
            self._push(batch.body)
        else:
            self._hear_odd(batch)
        if self._is_full and (self._writing_since is not None or self._is_looking):
            self._is_detached = True
        self._wake()

    def _sent_now(self, data: bytes) -> bool:
        """The hot path: nothing is queued, `run` sleeps, and the socket takes more. Then its task need not run."""
        if self._waker is None or self._waker.done() or self._socket is None or not self._socket.send_now(data):
            return False
        self._wrote_at = self._quiet_since
        if self.follower.is_done:
            self._wake()
        return True

    def look(self) -> None:
        """Something may have been missed: read row and log."""
        self._needs_look = True
        self._wake()

    def leave(self) -> None:
        """The client has gone."""
        self.is_gone = True
        self._wake()

    def reset(self) -> None:
        """Break the connection, whatever it is doing; one whose answer has not begun breaks after its head."""
        if self._socket is None:
            self._failure = Broken("this process ends")
            return
        self._socket.abort()
        self.leave()

    def tick(self, now: float) -> None:
        """Once a second or so: silence, heartbeats, and sockets that are stuck."""
        if self._writing_since is not None:
            self._check_socket(now)
        elif now >= self._quiet_since + self._limits.silence:
            self._quiet_since = now
            self.look()
        if self._writing_since is None and now >= self._wrote_at + self._limits.heartbeat:
            self._needs_beat = True
            self._wake()

    # The reader's own coroutine

    async def prepare(self) -> TurnState:
        """Row and log, read before anything is promised to the client. Raises `StoreAway`, `LogAway`, `TurnGone`."""
        state = await self._row.state()
        await self._read(state)
        return state

    def can_continue(self, state: TurnState) -> bool:
        """Whether the log goes on from the client's position; asked once, after `prepare`."""
        follower, (epoch, number) = self.follower, self.follower.position
        if epoch > max(follower.newest, state.epoch) or number > max(follower.highest, state.commit.number):
            return False  # no writer has come so far
        step = follower.next(self._looked)
        if isinstance(step, Deliver):
            self._push(step.batch.body)
        return not isinstance(step, Reset)

    async def run(self, socket: Socket) -> None:
        """Write until the end of the turn. Raises `Broken`; returns early, without a word, if the client goes."""
        self._socket = socket
        try:
            while not self.is_gone and not (self.follower.is_done and not self._queue):
                await self._do_next()
        finally:
            if self._looking is not None:
                self._looking.cancel()

    async def _do_next(self) -> None:
        if self._queue:
            await self._flush()
        elif self._failure is not None:
            raise self._failure
        elif self._has_looked:
            await self._go_on()
        elif self._is_due():
            # Beside the writing: a database that hangs must not hold up what arrives live.
            self._looking = asyncio.create_task(self._look(), name=f"look-{self.turn_id}")
        elif self._needs_beat:
            await self._beat()
        else:
            await self._sleep()

    def _is_due(self) -> bool:
        wants = self._looking is None and (self._needs_look or self._is_detached)
        return wants and self._loop.time() >= self._retry_at

    async def _sleep(self) -> None:
        self._waker = self._loop.create_future()
        try:
            await self._waker
        finally:
            self._waker = None

    def _wake(self) -> None:
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)

    def _hear_odd(self, batch: Batch) -> None:
        """Not simply the next one: early, late, or of another epoch."""
        try:
            self.follower.learn(batch)
        except ValueError as wrong:
            log.warning("ignored a batch", turn=str(self.turn_id), reason=str(wrong))
            return
        if (self._is_looking or not self._knows_log) and not self.follower.has_sent:
            return  # a fresh reader begins with the whole log known, lest it see superseded text
        while isinstance(step := self.follower.next(), Deliver):
            self._push(step.batch.body)
        if not self._is_looking and (step is not None or self.follower.has_gap):
            self._needs_look = True

    def _push(self, data: bytes) -> None:
        self._queue.append(data)
        self._queued_bytes += len(data)

    @property
    def _is_full(self) -> bool:
        return len(self._queue) >= self._limits.queue_batches or self._queued_bytes >= self._limits.queue_bytes

    async def _flush(self) -> None:
        data = b"".join(self._queue)
        self._queue.clear()
        self._queued_bytes = 0
        await self._send(data)

    async def _beat(self) -> None:
        self._needs_beat = False
        await self._send(KEEP_ALIVE)

    async def _send(self, data: bytes) -> None:
        assert self._socket is not None
        now = self._loop.time()
        self._wrote_at = self._writing_since = now
        try:
            await self._socket.send(data)
        finally:
            self._writing_since = None
            self._unsent = -1

    def _check_socket(self, now: float) -> None:
        """While a write waits: every byte that the transport could pass on is a sign of life."""
        assert self._socket is not None
        assert self._writing_since is not None
        unsent = self._socket.unsent()
        if unsent != self._unsent:
            self._unsent = unsent
            self._writing_since = now
        elif now >= self._writing_since + self._limits.stuck:
            log.info("reset a stuck viewer", turn=str(self.turn_id), seconds=self._limits.stuck, unsent=unsent)
            self.reset()

    async def _go_on(self) -> None:
        """Take every step that follows from the last look."""
        try:
            await self._take_steps(self._looked)
        except (StoreAway, LogAway, TurnBusy) as wrong:
            log.debug("a viewer waits", turn=str(self.turn_id), reason=str(wrong))
            self._try_again()
            return
        except TurnGone:
            raise Broken("the turn is no longer there") from None
        finally:
            is_whole = self._looked is not None
            self._has_looked = self._is_looking = False
            self._looked = None
        if self.follower.is_done or self._is_detached:
            self._retry = 0.0
        elif self.follower.has_gap or not is_whole:
            self._try_again()
        else:
            self._retry = 0.0

    def _try_again(self) -> None:
        """Later: what is missing is perhaps on its way, or a server is away."""
        self._retry = min(max(self._retry * 2, _FIRST_RETRY), _LAST_RETRY)
        self._retry_at = self._loop.time() + self._retry
        self._needs_look = True
        self._loop.call_later(self._retry, self._wake)

    async def _look(self) -> None:
        """Row and log; the log alone while the database is away, which fills gaps and concludes nothing."""
        try:
            try:
                state = await self._row.state()
            except StoreAway:
                state = None
            await self._read(state)
        except LogAway as wrong:
            log.debug("a viewer waits", turn=str(self.turn_id), reason=str(wrong))
            self._is_looking = False
            self._try_again()
        except TurnGone:
            self._failure = Broken("the turn is no longer there")
        except Exception as wrong:  # noqa: BLE001 - whatever it is, `run` raises it
            self._failure = wrong
        finally:
            self._looking = None
            self._wake()

    async def _read(self, state: TurnState | None) -> None:
        """The log to its end, after the row; then conclusions may be drawn from the two."""
        if state is not None and state.status == TurnStatus.WAITING:
            self._say_waiting(state.position)
        self._needs_look = self._is_detached = False
        self._is_looking = True
        self.follower.begin_log_read()
        try:
            async for stored in self._log.read(self.turn_id, self.follower.sequence):
                self._learn(stored.batch, stored.sequence)
        except LogAway:
            self._needs_look = True
            raise
        self._has_looked = self._knows_log = True
        if state is not None:
            self._looked = Row(state.epoch, state.commit, state.is_final)

    def _learn(self, batch: Batch, sequence: int) -> None:
        try:
            self.follower.learn(batch, sequence)
        except ValueError as wrong:
            log.warning("skipped in the log", turn=str(self.turn_id), sequence=sequence, reason=str(wrong))

    def _say_waiting(self, position: int | None) -> None:
        if not self.follower.has_sent and position != self._said_waiting:
            self._said_waiting = position
            self._push(notes.waits(self.turn_id, position))

    async def _take_steps(self, row: Row | None) -> None:
        step = self.follower.next(row)
        while step is not None and not self.is_gone:
            match step:
                case Deliver(batch):
                    self._push(batch.body)
                case Reset():
                    await self._flush()  # it counts for where the client asks on: else it comes here again and again
                    raise Broken("the log no longer holds what comes next")
                case Fetch(sequence):
                    await self._fetch(sequence)
                case Supersede() | Fill() | Close():
                    step = await self._do(step, row)
                    continue
            if self._is_full:
                await self._flush()
            step = self.follower.next(row)

    async def _do(self, step: Supersede | Fill | Close, row: Row | None) -> Step | None:
        """Prepare what a proposal needs; it counts only if it is still the next step when that is at hand."""
        data, done = await self._prepared(step)
        now = self.follower.next(row)
        if now != step:
            return now
        self._push(data)
        self.follower.confirm(done)
        return self.follower.next(row)

    async def _prepared(self, step: Supersede | Fill | Close) -> tuple[bytes, Supersede | Fill | Close]:
        if isinstance(step, Supersede):
            return notes.superseded(step.epoch, step.cut, await self._bodies(step.lost)), step
        state, parts = await self._row.message()
        if isinstance(step, Fill):
            return notes.filled(state, parts), Fill(Row(state.epoch, state.commit, state.is_final))
        begins = not self.follower.has_sent
        return notes.closed(state, parts, begins=begins, repeats=not begins), step

    async def _bodies(self, lost: tuple[BatchId, ...]) -> list[bytes | None]:
        """What was sent beyond the cut, as far as the log has it; it may never have had what was only heard."""
        wanted, found = frozenset(lost), dict[BatchId, bytes]()
        async for stored in self._log.read(self.turn_id, 0):
            if stored.batch.id in wanted:
                found[stored.batch.id] = stored.batch.body
        return [found.get(id) for id in lost]

    async def _fetch(self, sequence: int) -> None:
        """A page of bodies that were not kept when the log was indexed."""
        is_there = False
        async for stored in self._log.read(self.turn_id, sequence - 1, PAGE):
            is_there = is_there or stored.sequence == sequence
            self._learn(stored.batch, stored.sequence)
        if not is_there:
            self.follower.lose(sequence)
