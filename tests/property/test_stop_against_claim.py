"""Stop against claim: whichever commits first wins, a second stop changes nothing, a stale one neither."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from contracts.batches import unpack
from contracts.ids import uuid7
from contracts.turns import FINAL, TurnStatus
from store.turns import Claim
from tests.kit.turns import ROOMY, Person, Running, call
from tests.property.shore import Shore, explore

PLACE = st.integers(0, 5)
LONG_LINES = replace(ROOMY, waiting_per_thread=1000)


class StopAgainstClaim(RuleBasedStateMachine):
    """Who wins a race is not the same in every run, so no precondition asks what is held: such a rule does nothing."""

    shore: Shore

    @initialize()
    def begin(self) -> None:
        self.person: Person = self.shore.run(self.shore.database.person())
        self.threads: list[UUID] = [self.shore.run(self.person.thread()) for _ in range(2)]
        self.turns: dict[UUID, UUID] = {}
        """Of each turn its thread, in the order in which they came."""
        self.held: dict[UUID, Running] = {}
        self.asked: set[UUID] = set()
        """Somebody asked for it to stop, or replaced it."""
        self.never: set[UUID] = set()
        """A stop was committed before any claim: it must never run."""

    def teardown(self) -> None:
        if hasattr(self, "person"):
            try:
                self.comes_to_rest()
            finally:
                self.shore.forget()

    @rule(at=st.integers(0, 1), busy=st.sampled_from(["replace", "queue"]))
    def say(self, at: int, busy: str) -> None:
        before = self.unfinished(self.threads[at])
        accepted = self.shore.run(self.person.say(self.threads[at], busy=busy, limits=LONG_LINES))
        self.turns[accepted.turn_id] = self.threads[at]
        if busy == "replace":
            after = self.status()
            self.asked |= {id for id, state in before.items() if state == "running" or after[id] == "stopped"}
            self.never |= {id for id in before if after[id] == "stopped" and id not in self.held}

    @rule(at=st.integers(0, 1))
    def say_and_claim(self, at: int) -> None:
        self.say(at, "queue")
        self.claim(0)

    @precondition(lambda self: self.turns)
    @rule(place=PLACE)
    def stop(self, place: int) -> None:
        """By name: the turn may wait, be queued, run, or have ended long ago."""
        self.stop_twice(self.named(place))

    @rule(place=PLACE)
    def stop_what_runs(self, place: int) -> None:
        if not self.held:
            return
        self.stop_twice(list(self.held)[place % len(self.held)])

    def stop_twice(self, turn_id: UUID) -> None:
        before = self.row(turn_id)
        self.shore.run(self.person.stop(self.turns[turn_id], turn_id))
        after = self.row(turn_id)
        self.shore.run(self.person.stop(self.turns[turn_id], turn_id))
        assert self.row(turn_id) == after, "the same stop again changed something"
        if TurnStatus(before.status) in FINAL:
            assert after == before, "a stale stop changed something"
        elif before.status == "running":
            assert after.status == "running"
            assert after.stop_requested_at == (before.stop_requested_at or after.stop_requested_at)
            assert after.stop_requested_at is not None
            self.asked.add(turn_id)
        else:
            assert after.status == "stopped"
            self.asked.add(turn_id)
            self.never |= {turn_id} - set(self.held)

    @precondition(lambda self: self.turns)
    @rule(place=PLACE)
    def claim(self, place: int) -> None:
        turn_id = self.named(place)
        was = self.row(turn_id)
        held = self.shore.run(self.person.claim(turn_id, uuid7()))
        assert (held is not None) == (was.status == "queued" and was.stop_requested_at is None)
        self.take(turn_id, held)

    @precondition(lambda self: self.turns)
    @rule(place=PLACE, stop_first=st.booleans())
    def stop_and_claim_at_once(self, place: int, stop_first: bool) -> None:
        turn_id = self.named(place)
        was = self.row(turn_id)
        acts = [self.person.stop(self.turns[turn_id], turn_id), self.person.claim(turn_id, uuid7())]
        results = self.shore.together(*(acts if stop_first else acts[::-1]))
        for result in results:
            if isinstance(result, BaseException):
                raise result
        (held,) = [result for result in results if result is None or isinstance(result, Claim)]
        is_now = self.row(turn_id)
        if was.status == "queued" and was.stop_requested_at is None:
            assert is_now.status == ("stopped" if held is None else "running")
            assert held is None or is_now.stop_requested_at is not None, "the stop was lost"
        if TurnStatus(was.status) not in FINAL:
            self.asked.add(turn_id)
        if held is None and is_now.status == "stopped" and turn_id not in self.held:
            self.never.add(turn_id)
        self.take(turn_id, held)

    @rule(place=PLACE)
    def start_a_tool(self, place: int) -> None:
        """(b) carries the stop: one that was committed first wins."""
        if not self.held:
            return
        running = list(self.held.values())[place % len(self.held)]
        asked = call()
        self.shore.run(running.ask(asked))
        assert self.shore.run(running.start(asked.id)) == (running.turn_id not in self.asked)

    @rule(place=PLACE)
    def end(self, place: int) -> None:
        if not self.held:
            return
        turn_id = list(self.held)[place % len(self.held)]
        running = self.held.pop(turn_id)
        status = TurnStatus.STOPPED if turn_id in self.asked else TurnStatus.FINISHED
        self.shore.run(running.end(running.ending(status)))

    @rule(place=PLACE)
    def lose(self, place: int) -> None:
        """Its runner is gone: it goes back to the queue, or is stopped there and then."""
        if not self.held:
            return
        turn_id = list(self.held)[place % len(self.held)]
        running = self.held.pop(turn_id)
        self.shore.recover_orphans(running.held.runner_id, [], ROOMY)
        assert self.row(turn_id).status == ("stopped" if turn_id in self.asked else self.row(turn_id).status)

    @precondition(lambda self: self.turns)
    @rule()
    def sweep(self) -> None:
        self.shore.stop_queued(ROOMY)

    @invariant()
    def who_was_stopped_was_asked_to(self) -> None:
        if hasattr(self, "person"):
            for id, state in self.status().items():
                assert state != "stopped" or id in self.asked, "stopped though nobody asked"
                assert id not in self.never or state == "stopped", "a stop came first, and yet it runs"

    def comes_to_rest(self) -> None:
        """Every turn ends, with one end batch that counts."""
        for _ in range(60):
            self.shore.stop_queued(ROOMY)
            self.shore.promote_all(ROOMY)
            for turn_id, state in self.status().items():
                if state == "queued":
                    self.take(turn_id, self.shore.run(self.person.claim(turn_id, uuid7())))
            while self.held:
                self.end(0)
            if all(TurnStatus(state) in FINAL for state in self.status().values()):
                break
        self.who_was_stopped_was_asked_to()
        ends = self.shore.rows("select subject, payload from outbox where subject like 'log.%'")
        for turn_id in self.turns:
            row = self.row(turn_id)
            assert TurnStatus(row.status) in FINAL
            found = [unpack(end.payload) for end in ends if end.subject == f"log.{turn_id}"]
            assert [batch.id.epoch for batch in found] == [row.epoch], "not exactly one end batch"
            assert found[0].id.number == row.commit_number + 1

    def take(self, turn_id: UUID, held: Claim | None) -> None:
        if held is not None:
            self.held[turn_id] = Running(self.person, held)

    def named(self, place: int) -> UUID:
        return list(self.turns)[-1 - place % len(self.turns)]

    def row(self, turn_id: UUID) -> Any:
        return self.shore.run(self.shore.database.turn(turn_id))

    def status(self) -> dict[UUID, str]:
        rows = self.shore.rows("select id, status from turns where user_id = :user", user=self.person.user_id)
        return {row.id: row.status for row in rows}

    def unfinished(self, thread_id: UUID) -> dict[UUID, str]:
        finals = {status.value for status in FINAL}
        here = {id for id, thread in self.turns.items() if thread == thread_id}
        return {id: state for id, state in self.status().items() if id in here and state not in finals}


def test_stop_against_claim(shore: Shore) -> None:
    explore(StopAgainstClaim, shore, examples=8, steps=18)
