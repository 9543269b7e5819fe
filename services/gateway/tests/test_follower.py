"""The follower against its promise: whatever is lost, repeated, late or overruled, the client ends with what counts.

The rules themselves are searched by the model of a turn (`design/model`), with which this code was compared walk by
walk; here the same promise is held by histories that Hypothesis makes up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.batches import END, START, Batch, BatchId
from gateway.streams.follower import Close, Deliver, Fetch, Fill, Follower, Reset, Row, Step, Supersede


def batch(epoch: int, number: int, cut: tuple[int, int] = (0, 0), *, end: bool = False, size: int = 1) -> Batch:
    return Batch(BatchId(epoch, number), BatchId(*cut), END if end else 0, b"x" * size)


def delivered(follower: Follower, row: Row | None = None) -> list[str]:
    """Everything that follows, as short words; proposals are confirmed."""
    said: list[str] = []
    while (step := follower.next(row)) is not None:
        said.append(word(step))
        if isinstance(step, Supersede | Fill | Close):
            follower.confirm(step)
        if isinstance(step, Fetch):
            follower.lose(step.sequence)
    return said


def word(step: Step) -> str:
    match step:
        case Deliver(found):
            return str(found.id)
        case Supersede(epoch, cut, _):
            return f"superseded {epoch}.{cut}"
        case Fetch(sequence):
            return f"fetch {sequence}"
        case _:
            return type(step).__name__.lower()


def test_batches_come_in_order_whatever_the_order_in_which_they_are_heard() -> None:
    follower = Follower()
    for number in (3, 1, 3, 2, 1):
        follower.learn(batch(1, number))
    assert delivered(follower) == ["1.1", "1.2", "1.3"]
    assert not follower.has_gap
    assert follower.take(batch(1, 4))
    assert not follower.take(batch(1, 4))
    assert not follower.take(batch(1, 6))


def test_the_end_is_the_end() -> None:
    follower = Follower()
    follower.learn(batch(1, 1))
    follower.learn(batch(1, 2, end=True))
    follower.learn(batch(1, 3))
    assert delivered(follower) == ["1.1", "1.2"]
    assert follower.is_done


def test_nothing_is_delivered_while_a_cut_on_the_way_is_unknown() -> None:
    follower = Follower()
    follower.learn(batch(1, 1))
    assert delivered(follower) == ["1.1"]
    follower.learn(batch(3, 3, (2, 2)))
    follower.learn(batch(1, 2))
    assert delivered(follower) == []
    assert follower.has_gap
    follower.learn(batch(2, 2, (1, 1)))
    assert delivered(follower) == ["2.2", "3.3"]


def test_equal_numbers_of_another_epoch_prove_nothing() -> None:
    follower = Follower()
    for number in (1, 2, 3):
        follower.learn(batch(1, number))
    assert delivered(follower) == ["1.1", "1.2", "1.3"]
    follower.learn(batch(2, 4, (1, 1)))  # 2.2 and 2.3 were missed
    assert delivered(follower) == ["superseded 2.1"]
    follower.learn(batch(1, 4))  # a zombie
    follower.learn(batch(2, 2, (1, 1)))
    assert delivered(follower) == ["2.2"]
    follower.learn(batch(2, 3, (1, 1)))
    assert delivered(follower) == ["2.3", "2.4"]


def test_a_fresh_reader_never_sees_what_a_known_cut_overrules() -> None:
    follower = Follower()
    for found in (batch(1, 1), batch(1, 2), batch(1, 3), batch(2, 2, (1, 1)), batch(1, 4)):
        follower.learn(found)
    assert delivered(follower) == ["1.1", "2.2"]
    assert not follower.has_gap


def test_what_was_sent_beyond_a_cut_is_named() -> None:
    follower = Follower()
    for number in range(1, 5):
        follower.learn(batch(1, number))
    delivered(follower)
    follower.learn(batch(2, 3, (1, 2)))
    assert follower.next() == Supersede(2, 2, (BatchId(1, 3), BatchId(1, 4)))


def test_a_hole_before_the_commit_is_filled_for_who_has_nothing_and_resets_who_has() -> None:
    row = Row(1, BatchId(1, 5), is_final=False)
    fresh = Follower()
    fresh.learn(batch(1, 6), 9)
    assert delivered(fresh, row) == ["fill", "1.6"]
    begun = Follower(BatchId(1, 3))
    begun.learn(batch(1, 6), 9)
    assert delivered(begun, row) == ["reset"]


def test_a_fresh_reader_is_not_led_to_a_hole() -> None:
    """1.1 came into the log again, behind what is gone by now."""
    follower = Follower()
    follower.learn(batch(1, 1), 7)
    follower.learn(batch(1, 4), 8)
    assert delivered(follower, Row(1, BatchId(1, 3), is_final=False)) == ["fill", "1.4"]


def test_the_row_ends_what_the_log_does_not() -> None:
    follower = Follower()
    follower.learn(batch(1, 1))
    assert delivered(follower, Row(1, BatchId(1, 1), is_final=False)) == ["1.1"]
    assert delivered(follower, Row(1, BatchId(1, 1), is_final=True)) == ["close"]


def test_the_row_of_a_final_turn_supersedes_before_it_ends() -> None:
    follower = Follower()
    for number in (1, 2, 3):
        follower.learn(batch(1, number))
    assert delivered(follower, Row(2, BatchId(1, 1), is_final=True)) == ["1.1", "close"]
    late = Follower(BatchId(1, 3))
    assert delivered(late, Row(2, BatchId(1, 1), is_final=True)) == ["superseded 2.1", "close"]


def test_early_batches_are_held_back_up_to_a_limit_and_the_rest_is_asked_for() -> None:
    follower = Follower(held_batches=3)
    for number in range(2, 8):
        follower.learn(batch(1, number))
    assert delivered(follower) == []
    assert follower.has_gap
    follower.begin_log_read()
    for number in range(1, 8):
        follower.learn(batch(1, number), number)
    assert delivered(follower) == [f"1.{number}" for number in range(1, 8)]
    assert not follower.has_gap


def test_a_long_log_is_read_in_pieces() -> None:
    follower = Follower(read_ahead=100)
    log = [batch(1, number, size=40) for number in range(1, 11)]
    for sequence, found in enumerate(log, 1):
        follower.learn(found, sequence)
    seen: list[str] = []
    while (step := follower.next()) is not None:
        seen.append(word(step))
        if isinstance(step, Fetch):
            for sequence in range(step.sequence, len(log) + 1):
                follower.learn(log[sequence - 1], sequence)
    assert [said for said in seen if said.startswith("1.")] == [f"1.{number}" for number in range(1, 11)]
    assert "fetch 3" in seen


def test_a_batch_that_lies_before_its_cut_is_refused() -> None:
    follower = Follower()
    for impossible in (batch(1, 1, (1, 0)), batch(2, 3, (1, 3)), batch(1, 5, (2, 1))):
        with pytest.raises(ValueError, match="cut"):
            follower.learn(impossible)
    assert follower.newest == 0


# Made-up histories


@dataclass
class World:
    """A turn's row and log as they grow, and one client behind one follower that is connected again when reset."""

    epoch: int = 1
    commit: BatchId = START
    cut: BatchId = START
    number: int = 0
    is_final: bool = False
    log: list[Batch] = field(default_factory=list)
    first: int = 0
    cuts: dict[int, BatchId] = field(default_factory=lambda: {1: START})
    follower: Follower = field(default_factory=Follower)
    shown: list[BatchId] = field(default_factory=list)
    row: Row | None = None
    resets: int = 0

    def write(self, *, end: bool = False, stored: bool = True) -> Batch:
        self.number += 1
        found = Batch(BatchId(self.epoch, self.number), self.cut, END if end else 0, b"x")
        if stored:
            self.log.append(found)
        return found

    def commit_all(self) -> None:
        if self.number > self.cut.number:
            self.commit = BatchId(self.epoch, self.number)

    def take_over(self) -> None:
        self.epoch += 1
        self.cut, self.number = self.commit, self.commit.number
        self.cuts[self.epoch] = self.cut

    def path(self, upto: int) -> list[BatchId]:
        """The ids that count, by the cuts of every epoch."""
        found: list[BatchId] = []
        for number in range(1, upto + 1):
            epoch = self.epoch
            while epoch in self.cuts and number <= self.cuts[epoch].number:
                epoch = self.cuts[epoch].epoch
            found.append(BatchId(epoch, number))
        return found

    def hear(self, found: Batch) -> None:
        if self.follower.take(found):
            self.show(found.id)
        else:
            self.follower.learn(found)
            self.go_on(None)

    def see_row(self) -> None:
        self.row = Row(self.epoch, self.commit, self.is_final)

    def read_log(self) -> None:
        if self.row is None:
            self.see_row()
        self.follower.begin_log_read()
        for sequence, found in enumerate(self.log, 1):
            if sequence > max(self.first, self.follower.sequence):
                self.follower.learn(found, sequence)
        self.go_on(self.row)
        self.row = None

    def go_on(self, row: Row | None) -> None:
        while (step := self.follower.next(row)) is not None:
            match step:
                case Deliver(found):
                    self.show(found.id)
                case Supersede(epoch, cut, _):
                    self.shown = [id for id in self.shown if id.epoch >= epoch or id.number <= cut]
                    self.follower.confirm(step)
                case Fill(filled):
                    assert self.shown == []
                    self.shown = self.path(filled.commit.number)
                    self.follower.confirm(step)
                case Reset():
                    self.follower, self.shown, self.row = Follower(), [], None
                    self.resets += 1
                    return
                case Close():
                    self.follower.confirm(step)
                case Fetch():
                    raise AssertionError("everything fits")

    def show(self, id: BatchId) -> None:
        for epoch, cut in self.follower.cuts.items():
            if id.epoch < epoch <= self.follower.newest:
                assert id.number <= cut.number, f"{id} was shown though {epoch} was known to begin after {cut}"
        self.shown.append(id)


FATES = st.sampled_from(["both", "both", "both", "log", "live", "late", "twice"])
MOVES = st.sampled_from(
    ["write"] * 6 + ["commit", "commit", "take over", "zombie", "row", "log", "log", "evict", "reconnect", "late"]
)


@settings(max_examples=400, deadline=None)
@given(moves=st.lists(st.tuples(MOVES, FATES), max_size=60), ends_itself=st.booleans(), end=FATES)
def test_whatever_happens_the_client_ends_with_what_counts(
    moves: list[tuple[str, str]], ends_itself: bool, end: str
) -> None:
    world, late, dead = World(), list[Batch](), list[Batch]()

    def publish(found: Batch, fate: str) -> None:
        if fate in ("both", "live", "twice"):
            world.hear(found)
        if fate == "twice":
            world.hear(found)
        if fate == "late":
            late.append(found)

    publish(world.write(), "both")
    for move, fate in moves:
        match move:
            case "write":
                publish(world.write(stored=True), fate)
            case "commit":
                world.commit_all()
            case "take over":
                if world.number > world.commit.number:
                    dead.append(Batch(BatchId(world.epoch, world.number + 1), world.cut, 0, b"z"))
                world.take_over()
            case "zombie" if dead:
                world.log.append(dead[-1])
                publish(dead[-1], fate)
            case "row":
                world.see_row()
            case "log":
                world.read_log()
            case "evict":
                world.first = min(len(world.log), world.first + 3)
            case "reconnect" if not world.follower.is_done:
                world.follower, world.row = Follower(world.follower.position), None
                world.read_log()
            case "late" if late:
                world.hear(late.pop(0))
            case _:
                pass
    if ends_itself:
        world.commit_all()
    else:
        world.take_over()
    world.is_final = True
    last = world.write(end=True)
    publish(last, end)
    for found in late:
        world.hear(found)
    for _ in range(4):
        if not world.follower.is_done:
            world.read_log()
    assert world.follower.is_done
    counts = world.path(last.id.number)
    assert world.shown in (counts, counts[:-1]), (world.shown, counts)
