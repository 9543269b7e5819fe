"""Promotion, whatever order people, runners and sweeps come in: one active turn a thread, never more than the user's
limit, the oldest of a thread first, and nobody waits while there is room.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from store.turns import Limits, QueueFull, ThreadBusy
from tests.kit.turns import Person, Running
from tests.property.shore import Shore, explore

WHO, WHERE = st.integers(0, 1), st.integers(0, 2)
BUSY = st.sampled_from(["replace", "queue", "queue", "reject"])

_UNFINISHED = "select id from turns where user_id = any(:users) and ended_at is null"
_BROKEN = """
    select 'two active turns in one thread' as what from turns
    where user_id = any(:users) and status in ('queued', 'running') group by thread_id having count(*) > 1
    union all
    select 'a user is above the limit' from turns
    where user_id = any(:users) and status in ('queued', 'running') group by user_id having count(*) > :per_user
    union all
    select 'an older turn of the thread still waits'
    from turns a join turns w on w.thread_id = a.thread_id and w.status = 'waiting'
    where a.user_id = any(:users) and a.status in ('queued', 'running')
        and (w.accepted_at, w.id) < (a.accepted_at, a.id)
"""
_WAITING_FOR_NOTHING = """
    select w.id from turns w
    where w.user_id = any(:users) and w.status = 'waiting'
        and not exists (
            select from turns a where a.thread_id = w.thread_id and a.status in ('queued', 'running'))
        and :per_user > (
            select count(*) from turns b where b.user_id = w.user_id and b.status in ('queued', 'running'))
        and :total > (select count(*) from turns c where c.status in ('queued', 'running'))
"""


class Promotion(RuleBasedStateMachine):
    """Who wins a race is not the same in every run, so no precondition asks what is held: such a rule does nothing."""

    shore: Shore

    @initialize(per_user=st.integers(1, 3), total=st.sampled_from([2, 3, 1000]))
    def begin(self, per_user: int, total: int) -> None:
        self.limits = Limits(per_user=per_user, total=total, waiting_per_thread=4)
        self.people: list[Person] = [self.shore.run(self.shore.database.person()) for _ in range(2)]
        self.threads = [[self.shore.run(person.thread()) for _ in range(3)] for person in self.people]
        self.held: list[Running] = []

    def teardown(self) -> None:
        if hasattr(self, "people"):
            try:
                self.comes_to_rest()
            finally:
                self.shore.forget()

    @rule(who=WHO, at=WHERE, busy=BUSY)
    def say(self, who: int, at: int, busy: str) -> None:
        self.expect(self.shore.together(self.saying(who, at, busy)), ThreadBusy, QueueFull)

    @rule(first=st.tuples(WHO, WHERE, BUSY), second=st.tuples(WHO, WHERE, BUSY))
    def say_two_at_once(self, first: tuple[int, int, str], second: tuple[int, int, str]) -> None:
        self.expect(self.shore.together(self.saying(*first), self.saying(*second)), ThreadBusy, QueueFull)

    @rule(who=WHO, at=WHERE)
    def stop(self, who: int, at: int) -> None:
        self.shore.run(self.people[who].stop(self.threads[who][at], limits=self.limits))

    @rule(place=st.integers(0, 5))
    def claim(self, place: int) -> None:
        queued = self.found("select id, user_id from turns where user_id = any(:users) and status = 'queued'")
        if queued:
            row = queued[place % len(queued)]
            (person,) = [person for person in self.people if person.user_id == row.user_id]
            held = self.shore.run(person.claim(row.id))
            assert held is not None
            self.held.append(Running(person, held))

    @rule(place=st.integers(0, 5))
    def end(self, place: int) -> None:
        if not self.held:
            return
        running = self.held.pop(place % len(self.held))
        self.shore.run(running.end(running.ending(limits=self.limits)))

    @rule(who=WHO, at=WHERE, busy=BUSY)
    def end_all_while_somebody_speaks(self, who: int, at: int, busy: str) -> None:
        if not self.held:
            return
        ends = [running.end(running.ending(limits=self.limits)) for running in self.held]
        self.held.clear()
        self.expect(self.shore.together(self.saying(who, at, busy), *ends), ThreadBusy, QueueFull)

    @rule(place=st.integers(0, 5))
    def lose(self, place: int) -> None:
        """Its runner forgets the turn, and finds it under its own id."""
        if not self.held:
            return
        running = self.held.pop(place % len(self.held))
        self.shore.recover_orphans(running.held.runner_id, [], self.limits)

    @rule()
    def sweep(self) -> None:
        self.shore.promote_all(self.limits)

    @invariant()
    def the_limits_hold(self) -> None:
        if hasattr(self, "people"):
            assert self.found(_BROKEN, per_user=self.limits.per_user) == []

    def comes_to_rest(self) -> None:
        """Behind the sweep nobody waits for nothing; and everything that was accepted gets its turn."""
        for _ in range(100):
            self.shore.promote_all(self.limits)
            room = {"per_user": self.limits.per_user, "total": self.limits.total}
            assert self.found(_WAITING_FOR_NOTHING, **room) == [], "a turn waits though there is room"
            self.the_limits_hold()
            if not self.held and not self.found(_UNFINISHED):
                return
            self.claim(0)
            self.end(0)
        raise AssertionError("something that was accepted never runs")

    def saying(self, who: int, at: int, busy: str) -> Any:
        return self.people[who].say(self.threads[who][at], busy=busy, limits=self.limits)

    def found(self, statement: str, **more: Any) -> list[Any]:
        users: list[UUID] = [person.user_id for person in self.people]
        return self.shore.rows(statement, users=users, **more)

    def expect(self, results: list[Any], *refusals: type[Exception]) -> None:
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, refusals):
                raise result


def test_promotion(shore: Shore) -> None:
    explore(Promotion, shore, examples=8, steps=20)
