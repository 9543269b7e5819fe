"""Made-up lives of one turn: who held it, what was published, lost and overruled, and what its rows say.

Chunks, cuts, end batches and stored parts are made by the code's own makers; Postgres and the bus are memory here, so
that a test decides what is lost, late, repeated or published by the dead. The rules that keep holders harmless (every
write is conditional on the epoch; before a commit the log has every batch up to its number) are kept by `Life`: here
it is the readers who are under test. That the real store keeps them is held by the other tests of this folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from contracts import chunks
from contracts.batches import START, Batch, BatchId, pack, unpack
from contracts.chunks import Chunk
from contracts.frames import frame
from contracts.reducer import Reducer
from contracts.turns import FINAL, TurnStatus
from gateway.streams.log import Stored
from store.turns import TurnState, fixed_of, is_tool
from store.turns.endings import (
    call_result,
    closing_chunks,
    end_batch,
    foreign_end_batch,
    interrupted_result,
    start_chunk,
)
from store.turns.parts import tool_part

TURN, THREAD, MESSAGE = UUID(int=1), UUID(int=2), UUID(int=3)
FAILURE = {"error": "interrupted", "message": "It was interrupted."}


@dataclass(frozen=True)
class ModelCall:
    """What the model does in one step: so many batches of words, and these calls (true: the tool is idempotent)."""

    pieces: int = 1
    thinks: bool = False
    calls: tuple[bool, ...] = ()


Script = tuple[ModelCall, ...]


@dataclass
class ToolRow:
    input: dict[str, Any]
    is_idempotent: bool
    state: str = "asked"
    output: Any = None
    error_text: str | None = None

    def columns(self) -> dict[str, Any]:
        return {"state": self.state, "input": self.input, "output": self.output, "error_text": self.error_text}


class Life:
    """One turn: its row, its log as the broker keeps it, and whoever holds it or believes so."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.status = TurnStatus.QUEUED
        self.epoch = 0
        self.commit = START
        self.steps = 0
        self.ended_by: str | None = None
        self.rows: list[tuple[dict[str, Any], UUID | None]] = []
        self.calls: dict[UUID, ToolRow] = {}
        self.log: list[Stored] = []
        self.sequence = 0
        self.cuts: dict[int, BatchId] = {}
        self.made: dict[BatchId, bytes] = {}
        self.listeners: list[Callable[[Batch], None]] = []
        self.outbox: list[bytes] = []
        self.holder: Holder | None = None
        self.zombies: list[Holder] = []
        self.names = 100

    # The rows

    def state(self) -> TurnState:
        error = FAILURE if self.status is TurnStatus.FAILED else None
        epoch, commit, ended_by = self.epoch, self.commit, self.ended_by
        return TurnState(TURN, THREAD, MESSAGE, self.status, epoch, commit, ended_by, error, False, None)

    def stored(self) -> list[dict[str, Any]]:
        """The message as the rows tell it."""
        return [fixed if id is None else tool_part(fixed, self.calls[id].columns()) for fixed, id in self.rows]

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    # Who holds it

    def claim(self) -> Holder | None:
        if self.status is not TurnStatus.QUEUED:
            return None
        self.epoch += 1
        self.status = TurnStatus.RUNNING
        self.cuts[self.epoch] = self.commit
        self.holder = Holder(self)
        return self.holder

    def take_away(self, *, lives_on: bool) -> None:
        """The runner is taken for dead, and the turn goes back to the queue. It may live on, as a zombie."""
        if self.holder is None:
            return
        if lives_on:
            self.zombies.append(self.holder)
        self.holder = None
        if self.status is TurnStatus.RUNNING:
            self.status = TurnStatus.QUEUED

    def close(self, status: TurnStatus) -> None:
        """The end by another than the holder."""
        if self.status is not TurnStatus.QUEUED:
            return
        self.epoch += 1
        self.cuts[self.epoch] = self.commit
        open_calls = [(id, call.state) for id, call in self.calls.items() if call.state != "done"]
        for id, state in open_calls:
            self.calls[id].state, self.calls[id].error_text = "done", interrupted_result(state)
        self.status = status
        self.ended_by = "user" if status is TurnStatus.STOPPED else "interrupted"
        error = FAILURE if status is TurnStatus.FAILED else None
        batch = foreign_end_batch(
            turn_id=TURN,
            message_id=MESSAGE,
            epoch=self.epoch,
            commit=self.commit,
            open_calls=open_calls,
            status=status.value,
            ended_by=self.ended_by,
            error=error,
        )
        self.outbox.append(batch)

    # The log

    def publish(self, message: bytes, *, stored: bool = True, live: bool = True) -> None:
        batch = unpack(message)
        known = self.made.setdefault(batch.id, message)
        assert known == message, f"two different batches are called {batch.id}"
        if stored:
            self.sequence += 1
            self.log.append(Stored(self.sequence, batch))
        if live:
            for listener in list(self.listeners):
                listener(batch)

    def relay(self) -> None:
        if self.outbox:
            self.publish(self.outbox.pop(0))

    def evict(self) -> None:
        del self.log[: (len(self.log) + 1) // 2]

    def name(self) -> UUID:
        self.names += 1
        return UUID(int=self.names)

    # What is true, whoever knows it

    def counts(self, id: BatchId, newest: int) -> bool:
        """Whether a batch counts for somebody who has heard of this epoch and every cut below it."""
        epoch = newest
        while epoch > id.epoch:
            if id.number > self.cuts[epoch].number:
                return False
            epoch = self.cuts[epoch].epoch
        return epoch == id.epoch


@dataclass
class Holder:
    """One claim of the turn, one act at a time: `go_on` does the next. What is published waits in `wire`."""

    life: Life
    epoch: int = field(init=False)
    wire: list[bytes] = field(default_factory=list[bytes])
    is_stopping: bool = False
    will_break: bool = False

    def __post_init__(self) -> None:
        life = self.life
        self.epoch, self.cut, self.number = life.epoch, life.commit, life.commit.number
        self.steps, self.tries = life.steps, 0
        self.reducer = Reducer(str(MESSAGE), life.stored())
        self.kept = len(life.rows)
        self._acts = self._work()

    def go_on(self) -> None:
        """The next act; after the last one nothing happens any more."""
        next(self._acts, None)

    @property
    def is_mine(self) -> bool:
        return self.life.epoch == self.epoch and self.life.status is TurnStatus.RUNNING

    def _work(self) -> Iterator[None]:
        yield from self._begin()
        while self.is_mine or self in self.life.zombies:
            yield from self._results()
            if self.is_stopping or self.steps >= len(self.life.script):
                yield from self._settled()
                self._end(TurnStatus.STOPPED if self.is_stopping else TurnStatus.FINISHED)
                return
            if not (yield from self._model_call(self.life.script[self.steps])):
                return
            yield

    def _begin(self) -> Iterator[None]:
        if self.cut.number == 0:
            self._say([start_chunk(TURN, MESSAGE)])
            yield

    def _model_call(self, plan: ModelCall) -> Iterator[None]:
        """Says what the model says; false if the turn was lost meanwhile."""
        self.tries += 1
        part = f"{self.epoch}.{self.steps}.{self.tries}"
        opening: list[Chunk] = [chunks.finish_step()] if self.kept else []
        opening.append(chunks.start_step())
        if plan.thinks:
            thought = f"{part}.0"
            self._say([*opening, chunks.reasoning_start(thought), chunks.reasoning_delta(thought, f"hm {part}")])
            opening = [chunks.reasoning_end(thought)]
            yield
        for piece in range(plan.pieces):
            said = [*opening, *([chunks.text_start(part)] if piece == 0 else [])]
            self._say([*said, chunks.text_delta(part, f"[{part}.{piece}]")])
            opening = []
            yield
            if self.will_break:
                return (yield from self._supersede())
            if self.is_stopping:
                self._say([chunks.text_end(part)])
                return True
        self._say([chunks.text_end(part)])
        asked = {self.life.name(): idempotent for idempotent in plan.calls}
        for id in asked:
            self._say([chunks.tool_input_start(str(id), "look", ours=True), chunks.tool_input_delta(str(id), '{"at"')])
            self._say([chunks.tool_input_available(str(id), "look", {"at": part}, ours=True)])
        yield from self._settled()
        return self._commit_model_call(part, asked)

    def _supersede(self) -> Iterator[None]:
        """The provider's stream broke: what was said since the last commit does not count, under a higher epoch."""
        self.will_break = False
        if not self.is_mine:
            return False
        life = self.life
        life.epoch += 1
        self.epoch, self.cut, self.number = life.epoch, life.commit, life.commit.number
        life.cuts[self.epoch] = self.cut
        self.wire.clear()
        self.reducer.drop(range(self.kept, len(self.reducer)))
        yield from self._begin()
        return True

    def _results(self) -> Iterator[None]:
        """Results one after the other: shown, in the log, committed."""
        shown = {part.get("toolCallId") for part in self.reducer.parts}
        for id, call in list(self.life.calls.items()):
            if call.state == "done" or self.is_stopping or str(id) not in shown:
                continue
            output, error = f"by {self.epoch}", None
            if not call.is_idempotent:
                if call.state == "started":
                    output, error = None, interrupted_result("started")
                elif not self.is_mine:
                    return
                call.state = "started"
                yield
            self._say([call_result(id, output, error)])
            yield from self._settled()
            if not self.is_mine:
                return
            call.state, call.output, call.error_text = "done", output, error
            self._name_commit()
            yield

    def _settled(self) -> Iterator[None]:
        """What a commit waits for: the log has acknowledged every batch."""
        while self.wire:
            yield
            if self.wire:
                self.life.publish(self.wire.pop(0))

    def _commit_model_call(self, part: str, asked: dict[UUID, bool]) -> bool:
        if not self.is_mine:
            return False
        life = self.life
        life.calls |= {id: ToolRow({"at": part}, idempotent) for id, idempotent in asked.items()}
        self._store_parts()
        self.steps += 1
        self.tries = 0
        life.steps = self.steps
        self._name_commit()
        return True

    def _end(self, status: TurnStatus) -> None:
        if not self.is_mine:
            return
        life = self.life
        self._store_parts()
        open_calls = [(id, interrupted_result(call.state)) for id, call in life.calls.items() if call.state != "done"]
        for id, text in open_calls:
            life.calls[id].state, life.calls[id].error_text = "done", text
        last: list[Chunk] = [call_result(id, None, text) for id, text in open_calls]
        if len(self.reducer):
            last.append(chunks.finish_step())
        life.status = status
        life.ended_by = "user" if status is TurnStatus.STOPPED else "reply"
        last += closing_chunks(TURN, status.value, life.ended_by)
        self._name_commit()
        life.outbox.append(end_batch(BatchId(self.epoch, self.number + 1), self.cut, last))
        life.holder = None

    def _store_parts(self) -> None:
        for part in self.reducer.parts[self.kept :]:
            if is_tool(part):
                self.life.rows.append((fixed_of(part), UUID(part["toolCallId"])))
            else:
                self.life.rows.append((part, None))
        self.kept = len(self.life.rows)

    def _name_commit(self) -> None:
        self.life.commit = BatchId(self.epoch, self.number)

    def _say(self, said: list[Chunk]) -> None:
        self.number += 1
        id = BatchId(self.epoch, self.number)
        for chunk in said:
            self.reducer.apply(chunk)
        self.wire.append(pack(id, self.cut, frame(said, id)))
