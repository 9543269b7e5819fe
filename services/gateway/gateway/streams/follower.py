"""What a reader of the chunk log delivers next: the rules of `design/turns.md`, without any I/O.

A follower is told batches (from the live subject, from the stored log, in any order, repeated) and asked `next()`
until it has nothing to say; a step that needs I/O is a proposal until `confirm`. It walks the cuts from the newest
epoch that it has seen down to its own position; what an older epoch holds beyond a cut does not count, and while one
cut on the way is unknown, nothing is delivered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from contracts.batches import START, Batch, BatchId

HELD_BATCHES = 256
"""Early batches from the live subject that are held back at most; what is more is read from the log."""

READ_AHEAD = 1024 * 1024
"""Bytes of the stored log that one reader keeps at most; what is more is read again when its turn comes."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the turn's row says, read before the log was read."""

    epoch: int
    commit: BatchId
    is_final: bool


@dataclass(frozen=True, slots=True)
class Deliver:
    """Send this batch; the position is already behind it."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class Supersede:
    """What was sent beyond the cut does not count: say so under the id `<epoch>.<cut>`, then confirm."""

    epoch: int
    cut: int
    lost: tuple[BatchId, ...]
    """The batches that were sent (or given as the client's position) beyond the cut, in order."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """The next batch is in the log, but its body was not kept: read the log again from this stream sequence, or
    `lose` it.
    """

    sequence: int


@dataclass(frozen=True, slots=True)
class Fill:
    """The log no longer holds what comes next and nothing was sent yet: send the committed parts from Postgres, then
    confirm a `Fill` with the row that they belong to (which may be a newer one).
    """

    row: Row


@dataclass(frozen=True, slots=True)
class Reset:
    """The log no longer holds what comes next, in the middle of a message: the client has to start over."""


@dataclass(frozen=True, slots=True)
class Close:
    """The turn is final and the log has no more: the row gives the closing results and the finish, then confirm."""

    row: Row


Step = Deliver | Supersede | Fetch | Fill | Reset | Close


class Follower:
    """One reader's place in one log."""

    def __init__(self, position: BatchId = START, *, held_batches: int = HELD_BATCHES, read_ahead: int = READ_AHEAD):
        self.position = position
        self.is_done = False
        self.sequence = 0
        """The last stream sequence that was read of the stored log."""
        self._newest = 0
        self._highest = 0
        self._cuts: dict[int, BatchId] = {}
        self._held: dict[BatchId, Batch | int] = {}
        self._held_bytes = 0
        self._held_limit = held_batches
        self._read_ahead = read_ahead
        self._overflowed = False

    @property
    def has_sent(self) -> bool:
        """Whether the client has anything of this message: from us, or named by its own position."""
        return self.position != START

    @property
    def highest(self) -> int:
        """The highest number seen, in whichever epoch."""
        return self._highest

    @property
    def newest(self) -> int:
        """The newest epoch seen."""
        return self._newest

    @property
    def cuts(self) -> Mapping[int, BatchId]:
        """The cut of each epoch, where known."""
        return MappingProxyType(self._cuts)

    @property
    def has_gap(self) -> bool:
        """Whether something is known to be missing: to be asked after `next()` had nothing more to say."""
        return bool(self._held) or self._overflowed or self._smallest_cut() is None

    def take(self, batch: Batch) -> bool:
        """The hot path: whether this is simply the next batch, which is then to be sent."""
        id, position = batch.id, self.position
        if (
            id.number == position.number + 1
            and id.epoch == position.epoch == self._newest
            and not self._held
            and not self._overflowed
            and not self.is_done
        ):
            self.position = id
            self.is_done = batch.is_end
            return True
        return False

    def learn(self, batch: Batch, sequence: int = 0) -> None:
        """Hear of a batch: from the live subject, or from the log with its stream sequence (from 1).

        Raises ValueError for one that no writer can have made: its cut must lie below it, in an older epoch.
        """
        id = batch.id
        if batch.cut.epoch >= id.epoch or batch.cut.number >= id.number:
            raise ValueError(f"batch {id} does not lie beyond its cut {batch.cut}")
        self.sequence = max(self.sequence, sequence)
        self._cuts.setdefault(id.epoch, batch.cut)
        self._newest = max(self._newest, id.epoch)
        self._highest = max(self._highest, id.number)
        known = self._held.get(id)
        if isinstance(known, Batch) or self._is_past(id):
            return
        if id.number == self.position.number + 1 or self._has_room(batch, is_live=not sequence):
            self._held[id] = batch
            self._held_bytes += len(batch.body)
        elif sequence:
            self._held[id] = sequence
        elif known is None:
            self._overflowed = True

    def lose(self, sequence: int) -> None:
        """What was to be fetched from here is no longer in the log."""
        for id in [id for id, held in self._held.items() if held == sequence]:
            del self._held[id]

    def miss(self) -> None:
        """A live batch passed by unread, because the socket does not drain: the log has it."""
        self._overflowed = True

    def begin_log_read(self) -> None:
        """What overflowed before this moment is in the log, which is now read to its end."""
        self._overflowed = False

    def next(self, row: Row | None = None) -> Step | None:
        """The next step: `Deliver` and `Reset` are taken, others wait for `confirm`.

        `row` only if the log was read to its end after the row was.
        """
        if self.is_done:
            return None
        if row is not None:
            self._heed(row)
        cut = self._smallest_cut()
        if cut is not None and self.position.number > cut:
            return Supersede(self._newest, cut, tuple(self._sent_beyond(cut)))
        if row is not None and not self.has_sent and self._has_hole(row.commit.number):
            return Fill(row)  # what comes before the hole would only lead to a reset, again and again
        if cut is not None and (step := self._successor()):
            return step
        if row is not None and (step := self._conclude(row, is_chain_known=cut is not None)):
            return step
        self._forget_past()
        return None

    def confirm(self, step: Supersede | Fill | Close) -> None:
        """The step is done: what it says is on its way to the client."""
        match step:
            case Supersede():
                self.position = BatchId(step.epoch, step.cut)
            case Fill(row):
                self._newest = max(self._newest, row.epoch)
                self.position = BatchId(row.epoch, row.commit.number)
            case Close():
                self.is_done = True

    def _heed(self, row: Row) -> None:
        """The row tells the cut of its epoch as long as that epoch has committed nothing."""
        if row.commit.epoch < row.epoch:
            self._cuts.setdefault(row.epoch, row.commit)
            if row.is_final:
                self._newest = max(self._newest, row.epoch)

    def _smallest_cut(self) -> int | None:
        """The smallest cut met from the newest epoch down to the position's; none while one is unknown."""
        epoch, smallest = self._newest, 1 << 62
        while epoch > self.position.epoch:
            cut = self._cuts.get(epoch)
            if cut is None:
                return None
            epoch, smallest = cut.epoch, min(smallest, cut.number)
        return smallest

    def _epoch_of(self, number: int) -> int:
        """Whose batch counts under this number, as far as the cuts are known."""
        epoch = max(self._newest, self.position.epoch)
        while (cut := self._cuts.get(epoch)) is not None and number <= cut.number:
            epoch = cut.epoch
        return epoch

    def _sent_beyond(self, cut: int) -> list[BatchId]:
        """The ids that led to the position, newest epoch first read downwards along its own cuts."""
        found: list[BatchId] = []
        epoch = self.position.epoch
        for number in range(self.position.number, cut, -1):
            while (below := self._cuts.get(epoch)) is not None and number <= below.number:
                epoch = below.epoch
            found.append(BatchId(epoch, number))
        return found[::-1]

    def _has_hole(self, number: int) -> bool:
        """Whether a batch up to this number is not in the log."""
        return any(BatchId(self._epoch_of(n), n) not in self._held for n in range(1, number + 1))

    def _successor(self) -> Deliver | Fetch | None:
        number = self.position.number + 1
        id = BatchId(self._epoch_of(number), number)
        found = self._held.get(id)
        if found is None:
            return None
        if isinstance(found, int):
            return Fetch(found)
        del self._held[id]
        self._held_bytes -= len(found.body)
        self.position = id
        self.is_done = found.is_end
        return Deliver(found)

    def _conclude(self, row: Row, *, is_chain_known: bool) -> Fill | Reset | Close | None:
        number = row.commit.number
        if number > self.position.number or (number and not is_chain_known):
            if self.position == BatchId(row.epoch, number):
                return None
            if self.has_sent:
                self.is_done = True
                return Reset()
            return Fill(row)
        if row.is_final and is_chain_known:
            return Close(row)
        return None

    def _has_room(self, batch: Batch, *, is_live: bool) -> bool:
        if is_live and len(self._held) >= self._held_limit:
            return False
        return self._held_bytes + len(batch.body) <= self._read_ahead

    def _is_past(self, id: BatchId) -> bool:
        """Whether a batch can no longer be wanted: its number went by, or another epoch's counts under it."""
        cut = self._smallest_cut()
        if cut is None or cut < self.position.number:
            return False  # the position itself may fall back
        return id.number <= self.position.number or self._epoch_of(id.number) != id.epoch

    def _forget_past(self) -> None:
        for id in [id for id in self._held if self._is_past(id)]:
            known = self._held.pop(id)
            if isinstance(known, Batch):
                self._held_bytes -= len(known.body)
