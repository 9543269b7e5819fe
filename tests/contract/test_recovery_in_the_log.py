"""Turns that change hands, as readers of the log see them: who followed and who comes late have the stored message.

A small runner with commit points, killed at random, writes batches; beyond a cut nothing counts. (The runner's and the
gateway's own tests play this on the real bus; here it is about the reducer, `superseded` and the stored parts.)
"""

import random
from dataclasses import dataclass, field

import pytest

from contracts import chunks
from contracts.batches import START, BatchId
from contracts.chunks import Chunk
from contracts.encoder import encode
from contracts.reducer import Reducer
from contracts.superseded import superseded


class Killed(Exception):
    pass


@dataclass
class Batch:
    id: BatchId
    cut: BatchId  # of the batch's epoch
    chunks: list[Chunk]


@dataclass
class Turn:
    """The row, the parts and the log of one turn."""

    dice: random.Random
    log: list[Batch] = field(default_factory=list)
    parts: list[Chunk] = field(default_factory=list)
    commit: BatchId = START
    epoch: int = 0
    names: int = 0

    def name(self) -> str:
        self.names += 1
        return f"name-{self.names}"


class Holder:
    """One claim of the turn: goes on from the last commit, under a higher epoch, until it ends or is killed."""

    def __init__(self, turn: Turn, *, mortal: bool) -> None:
        turn.epoch += 1
        self.turn, self.dice, self.mortal = turn, turn.dice, mortal
        self.cut, self.number = turn.commit, turn.commit.number
        self.reducer = Reducer("m", turn.parts)

    def run(self) -> None:
        if self.number == 0:
            self.publish(chunks.start("m"))
        self.results()
        for _ in range(self.dice.randint(0, 2)):
            self.model_call()
            self.results()
        self.publish(chunks.finish_step(), chunks.finish("stop"))
        self.committed()

    def model_call(self) -> None:
        self.publish(chunks.start_step(), *self.streamed(chunks.reasoning_start, chunks.reasoning_delta, None))
        reasoning = self.reducer.parts[-1]["id"]
        text = self.streamed(chunks.text_start, chunks.text_delta, chunks.text_end)
        self.publish(chunks.reasoning_delta(reasoning, "so"), chunks.reasoning_end(reasoning), *text[:2])
        self.publish(*text[2:])
        for _ in range(self.dice.randint(0, 3)):
            call = self.turn.name()
            if self.dice.random() < 0.5:
                self.publish(chunks.tool_input_start(call, "sum", ours=True), chunks.tool_input_delta(call, '{"a":'))
            self.publish(chunks.tool_input_available(call, "sum", {"a": 1}, ours=True))
        self.committed()

    def results(self) -> None:
        """Results, one after the other, each with its commit; some are shown before they are final."""
        waiting = [part["toolCallId"] for part in self.reducer.parts if part.get("state") == "input-available"]
        for call in waiting:
            if self.dice.random() < 0.3:
                self.publish(chunks.tool_output_available(call, "half", ours=True, preliminary=True))
            if self.dice.random() < 0.3:
                self.publish(chunks.tool_output_error(call, "unknown outcome", ours=True))
            else:
                self.publish(chunks.tool_output_available(call, self.turn.name(), ours=True))
            self.committed()

    def streamed(self, start: object, delta: object, end: object) -> list[Chunk]:
        part = self.turn.name()
        made = [start(part), *(delta(part, word) for word in ["one ", "two ", "three"])]  # type: ignore[operator]
        return [*made, end(part)] if end else made  # type: ignore[operator]

    def publish(self, *batch: Chunk) -> None:
        if self.mortal and self.dice.random() < 0.12:
            raise Killed
        self.number += 1
        self.turn.log.append(Batch(BatchId(self.turn.epoch, self.number), self.cut, list(batch)))
        for chunk in batch:
            self.reducer.apply(chunk)

    def committed(self) -> None:
        if self.mortal and self.dice.random() < 0.12:
            raise Killed
        self.turn.parts = self.reducer.parts
        self.turn.commit = BatchId(self.turn.epoch, self.number)


class NativeReader:
    """Follows live, remembers which batch began each part, and goes by epoch and cut."""

    def __init__(self) -> None:
        self.reducer = Reducer()
        self.began: list[BatchId] = []
        self.epoch = 0

    def read(self, batch: Batch) -> None:
        if batch.id.epoch > self.epoch:
            self.epoch = batch.id.epoch
            gone = superseded(self.reducer.parts, self.began, self.epoch, batch.cut)
            self.reducer.drop(gone)
            self.began = [at for ordinal, at in enumerate(self.began) if ordinal not in gone]
        for chunk in batch.chunks:
            self.reducer.apply(chunk)
        self.began += [batch.id] * (len(self.reducer) - len(self.began))


def finished_turn(seed: int) -> Turn:
    turn = Turn(random.Random(seed))
    for attempt in range(6):
        try:
            Holder(turn, mortal=attempt < 5).run()
            return turn
        except Killed:
            pass
    raise AssertionError("the last holder is not mortal")


def counting(log: list[Batch]) -> list[Batch]:
    """What a fresh reader is shown: followed from the newest epoch, nothing that lies beyond a later epoch's cut."""
    kept: list[Batch] = []
    position: BatchId | None = None
    for batch in reversed(log):
        if position is None or batch.id.epoch == position.epoch:
            kept.append(batch)
            position = batch.id
            continue
        cut = kept[-1].cut
        if batch.id.epoch == cut.epoch and batch.id.number <= cut.number:
            kept.append(batch)
            position = batch.id
    return kept[::-1]


@pytest.fixture(scope="module")
def turns() -> list[Turn]:
    return [finished_turn(seed) for seed in range(400)]


def test_the_turns_do_change_hands(turns: list[Turn]):
    assert sum(turn.epoch > 2 for turn in turns) > 50
    assert sum(len(counting(turn.log)) < len(turn.log) for turn in turns) > 100


def test_a_fresh_reader_has_the_stored_message(turns: list[Turn]):
    for turn in turns:
        reader = Reducer()
        for batch in counting(turn.log):
            for chunk in batch.chunks:
                reader.apply(chunk)
        assert reader.parts == turn.parts


def test_a_reader_who_followed_has_the_stored_message_in_the_end(turns: list[Turn]):
    for turn in turns:
        reader = NativeReader()
        for batch in turn.log:
            reader.read(batch)
        assert reader.reducer.parts == turn.parts


def test_who_comes_when_the_log_is_gone_goes_on_from_the_stored_parts(turns: list[Turn]):
    """Committed parts as chunks, the position then is the commit; the rest of the log follows."""
    for turn in turns:
        log = counting(turn.log)
        last_cut = log[-1].cut
        writer = Reducer("m")
        for batch in log:
            if batch.id.epoch == log[-1].id.epoch:
                break
            for chunk in batch.chunks:
                writer.apply(chunk)
        reader = Reducer("m")
        rest = [chunk for batch in log if batch.id.epoch > last_cut.epoch for chunk in batch.chunks]
        for chunk in [chunks.start("m"), *encode(writer.parts), *rest]:
            reader.apply(chunk)
        assert reader.parts == turn.parts
