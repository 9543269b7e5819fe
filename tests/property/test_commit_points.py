"""Commit points, holders and zombies in any order: only the newest epoch writes, and what it repeats counts once.

Every act of a zombie is tried on the real rows, and no row may be another afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from contracts.batches import BatchId
from contracts.ids import uuid7
from contracts.turns import FINAL, TurnStatus
from store import turns
from store.turns import AttemptResult, CallRow, PartRow, TurnLost
from tests.kit.turns import ROOMY, Person, Running, call
from tests.property.shore import Shore, explore

_EVERYTHING = """
    select jsonb_build_array(
        (select jsonb_agg(to_jsonb(t)) from turns t where t.id = :turn),
        (select jsonb_agg(to_jsonb(h) - 'touched_at') from threads h
            join turns t on t.thread_id = h.id where t.id = :turn),
        (select jsonb_agg(to_jsonb(p) order by p.ordinal) from message_parts p
            join turns t on t.message_id = p.message_id where t.id = :turn),
        (select jsonb_agg(to_jsonb(c) order by c.id) from tool_calls c where c.turn_id = :turn),
        (select jsonb_agg(to_jsonb(a) order by a.id) from attempts a where a.turn_id = :turn),
        (select jsonb_agg(to_jsonb(l)) from ledger l where l.turn_id = :turn),
        (select count(*) from outbox)) as everything
"""

ACTS = st.sampled_from(["open", "settle", "commit", "start", "finish", "raise", "end"])
PLACE = st.integers(0, 5)


class CommitPoints(RuleBasedStateMachine):
    shore: Shore

    @initialize()
    def begin(self) -> None:
        self.person: Person = self.shore.run(self.shore.database.person())
        self.accepted = self.shore.run(self._accept())
        self.turn = self.accepted.turn_id
        self.holder: Running | None = None
        self.zombies: list[Running] = []
        self.attempt: UUID | None = None
        self.opened: list[UUID] = []
        self.calls: dict[UUID, str] = {}
        self.epoch = 0
        self.commit = BatchId(0, 0)
        self.is_final = self.is_stopping = False
        self.starts: Counter[UUID] = Counter()
        self.claims = 0

    def teardown(self) -> None:
        if hasattr(self, "person"):
            self.shore.forget()

    async def _accept(self) -> turns.Accepted:
        return await self.person.say(await self.person.thread())

    # Whose turn it is

    @precondition(lambda self: self.holder is None and not self.is_final)
    @rule()
    def claim(self) -> None:
        held = self.shore.run(self.person.claim(self.turn, uuid7()))
        assert (held is None) == self.is_stopping, "a queued turn that shall stop is not claimed"
        if held is not None:
            assert held.epoch > self.epoch
            assert held.commit == self.commit, "the cut is the turn's last commit, whoever made it"
            self.epoch, self.holder = held.epoch, Running(self.person, held)

    @precondition(lambda self: self.holder is None and not self.is_final)
    @rule()
    def claim_twice_at_once(self) -> None:
        first, second = self.shore.together(self.person.claim(self.turn), self.person.claim(self.turn))
        taken = [held for held in (first, second) if held is not None]
        assert len(taken) == (0 if self.is_stopping else 1)
        if taken:
            self.epoch, self.holder = taken[0].epoch, Running(self.person, taken[0])

    @precondition(lambda self: self.holder is not None)
    @rule()
    def take_away(self) -> None:
        """The sweep finds its runner dead; the runner is not, and goes on."""
        assert self.holder is not None
        self.zombies.append(self.holder)
        swept = self.shore.recover_orphans(self.holder.held.runner_id, [], ROOMY)
        self.holder, self.attempt = None, None
        self.is_final = not swept.recovered
        if self.is_final:
            self.calls = dict.fromkeys(self.calls, "done")

    @rule()
    def ask_to_stop(self) -> None:
        before = self._everything()
        self.shore.run(self.person.stop(self.accepted.thread_id, self.turn))
        if self.is_final or self.is_stopping:
            assert self._everything() == before, "a stop that came too late, or again, changed a row"
            return
        if self.holder is None:
            self.is_final = True
            self.calls = dict.fromkeys(self.calls, "done")
        self.is_stopping = True

    # What a holder may do, once or as after a lost reply

    @precondition(lambda self: self.holder is not None)
    @rule(act=ACTS, place=PLACE, twice=st.booleans())
    def hold(self, act: str, place: int, twice: bool) -> None:
        assert self.holder is not None
        made = self._made(self.holder, act, place)
        if made is None:
            return
        expected, write, note = made
        result = self.shore.run(self._write(self.holder, write))
        assert not isinstance(result, TurnLost), f"the holder could not {act}"
        if twice:
            before = self._everything()
            assert self._written(self.holder, write) == (expected if expected is not None else result)
            if act != "open":
                assert self._everything() == before, f"{act} took twice"
        note(result)

    @precondition(lambda self: self.zombies)
    @rule(act=ACTS, place=PLACE, who=PLACE)
    def zombie(self, act: str, place: int, who: int) -> None:
        zombie = self.zombies[who % len(self.zombies)]
        made = self._made(zombie, act, place)
        if made is None:
            return
        before = self._everything()
        result = self._written(zombie, made[1])
        is_mine = self.holder is None or self.holder.held.runner_id == zombie.held.runner_id
        is_told_again = is_mine and act in ("raise", "end")  # as to one whose reply was lost: it took, long ago
        assert isinstance(result, TurnLost) or is_told_again, f"a zombie's {act} was answered with {result!r}"
        assert self._everything() == before, f"a zombie's {act} changed a row"

    @invariant()
    def the_row_knows_the_last_commit(self) -> None:
        if hasattr(self, "person"):
            (row,) = self.shore.rows("select * from turns where id = :turn", turn=self.turn)
            assert (row.commit_epoch, row.commit_number) == self.commit
            assert (TurnStatus(row.status) in FINAL) == self.is_final
            found = {c.id: c.state for c in self.shore.rows("select * from tool_calls where turn_id = :t", t=self.turn)}
            assert found == self.calls
            assert all(times == 1 for times in self.starts.values()), "a tool was started twice"

    # The acts

    def _made(self, by: Running, act: str, place: int) -> Any:
        """What the second try returns if it is not what the first did, the write, and what to remember."""
        held, next_id = by.held, BatchId(by.held.epoch, self.commit.number + 1)
        steps = held.steps + 1
        attempt = self.attempt or uuid7()
        named = self._call(place)
        match act:
            case "open":
                fresh, number = uuid7(), len(self.opened) + 1
                return None, lambda s: self._open(s, by, fresh, number), lambda _: self._opened(fresh)
            case "settle":
                result = AttemptResult(attempt, "failed", "rate_limited")
                return None, lambda s: turns.settle_attempt(s, held, result), lambda _: self._opened(None)
            case "commit":
                asked, part = call(), self._part(place)
                result = AttemptResult(attempt, "done", "stop")

                async def commit(session: Any) -> None:
                    await turns.commit_model_call(
                        session, held, next_id, steps=steps, parts=part, calls=[asked], attempt=result
                    )

                return None, commit, lambda _: self._committed(next_id, asked)
            case "start" if named is not None and self.calls[named] == "asked":
                return None, lambda s: turns.start_call(s, held, named), lambda took: self._started(named, took)
            case "finish" if named is not None and self.calls[named] != "done":

                async def finish(session: Any) -> None:
                    await turns.finish_call(
                        session, held, next_id, steps=steps, call_id=named, output="x", error_text=None
                    )

                return None, finish, lambda _: self._finished(next_id, named)
            case "raise":
                return None, lambda s: turns.raise_epoch(s, held), lambda epoch: self._raised(by, epoch)
            case "end":
                ending = self._ending(by)
                return [], lambda s: turns.end(s, held, ending), lambda _: self._ended(ending.commit)
            case _:
                return None

    def _call(self, place: int) -> UUID | None:
        return list(self.calls)[place % len(self.calls)] if self.calls else None

    def _part(self, place: int) -> list[PartRow]:
        rows = self.shore.rows(
            "select count(*) as n from message_parts p join turns t using (message_id) where t.id = :t", t=self.turn
        )
        return [PartRow(rows[0].n, place, "text", {"type": "text", "text": "x", "state": "done"})]

    def _ending(self, by: Running) -> turns.Ending:
        by.commit = BatchId(by.held.epoch, self.commit.number)
        ending = by.ending()
        closed = [(id, "not run") for id, state in self.calls.items() if state != "done"]
        return turns.Ending(
            ending.status, ending.ended_by, ending.commit, ending.end_batch, closed_calls=closed, limits=ROOMY
        )

    async def _open(self, session: Any, by: Running, attempt: UUID, number: int) -> None:
        await turns.open_attempt(session, by.held, attempt, step=by.held.steps, number=number, model="test/test")

    async def _write(self, by: Running, write: Any) -> Any:
        try:
            async with by.transaction() as session:
                return await write(session)
        except TurnLost as lost:
            return lost

    def _written(self, by: Running, write: Any) -> Any:
        acting: Coroutine[Any, Any, Any] = self._write(by, write)
        return self.shore.run(acting)

    def _everything(self) -> Any:
        (row,) = self.shore.rows(_EVERYTHING, turn=self.turn)
        return row.everything

    # What follows from them

    def _opened(self, attempt: UUID | None) -> None:
        self.attempt = attempt
        self.opened += [] if attempt is None else [attempt]

    def _committed(self, id: BatchId, asked: CallRow) -> None:
        self.commit, self.attempt = id, None
        self.calls[asked.id] = "asked"

    def _started(self, id: UUID, took: bool) -> None:
        assert took == (not self.is_stopping), "a stop that was committed first wins"
        if took:
            self.calls[id] = "started"
            self.starts[id] += 1

    def _finished(self, id: BatchId, named: UUID) -> None:
        self.commit = id
        self.calls[named] = "done"

    def _raised(self, by: Running, epoch: int) -> None:
        """The holder goes on under its new epoch; what still believes in the old one is a zombie."""
        assert epoch == by.held.epoch + 1
        self.zombies.append(by)
        (row,) = self.shore.rows("select runner_id from turns where id = :turn", turn=self.turn)
        assert row.runner_id == by.held.runner_id
        self.epoch, self.attempt = epoch, None
        self.holder = Running(by.person, replace(by.held, epoch=epoch, commit=self.commit))

    def _ended(self, commit: BatchId) -> None:
        assert self.holder is not None
        self.zombies.append(self.holder)
        self.holder, self.is_final, self.commit = None, True, commit
        self.calls = dict.fromkeys(self.calls, "done")


def test_commit_points(shore: Shore) -> None:
    explore(CommitPoints, shore, examples=12, steps=20)
