"""The inbox: an effect happens once, however often its event comes, at once or later, and whatever is lost.

The chassis' own `in_one_transaction` on the real table; the effect is a row in the outbox, which a second one would
double.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from chassis.consumer import in_one_transaction
from contracts.ids import uuid7
from contracts.subjects import ConsumerSpec
from contracts.turns import TurnCompleted, TurnStatus
from store import Session, StoreAway, outbox
from store.outbox import OutboxMessage
from tests.property.shore import Shore, explore

WHICH = st.integers(0, 2)
END = st.sampled_from(["done", "breaks", "reply is lost"])


class Broke(Exception):
    """The handler failed behind its effect."""


class Inbox(RuleBasedStateMachine):
    shore: Shore

    @initialize()
    def begin(self) -> None:
        self.user = uuid7()
        self.consumers = [f"first-{self.user}", f"second-{self.user}"]
        made = {"user_id": self.user, "thread_id": uuid7(), "status": TurnStatus.FINISHED}
        self.events = [TurnCompleted(turn_id=uuid7(), **made) for _ in range(3)]
        self.done: set[tuple[str, UUID]] = set()

    def teardown(self) -> None:
        if hasattr(self, "events"):
            try:
                self.comes_to_rest()
            finally:
                self.shore.rows("delete from outbox where subject like :mine", mine=f"effect.{self.user}.%")
                self.shore.rows("delete from inbox where consumer = any(:names)", names=self.consumers)

    @rule(which=WHICH, who=st.integers(0, 1), end=END)
    def deliver(self, which: int, who: int, end: str) -> None:
        self.expect(self.shore.together(self.delivery(which, who, end)), which, who, end)

    @rule(which=WHICH, who=st.integers(0, 1), ends=st.lists(END, min_size=2, max_size=3))
    def deliver_at_once(self, which: int, who: int, ends: list[str]) -> None:
        """To as many processes of the consumer."""
        results = self.shore.together(*(self.delivery(which, who, end) for end in ends))
        for end, result in zip(ends, results, strict=True):
            self.expect([result], which, who, end)

    @invariant()
    def no_effect_happens_twice(self) -> None:
        if hasattr(self, "events"):
            effects = self.effects()
            assert all(times == 1 for times in effects.values()), "an effect was repeated"
            assert self.done <= set(effects), "an event was answered for, and its effect is not there"
            rows = self.shore.rows(
                "select consumer, event_id from inbox where consumer = any(:names)", names=self.consumers
            )
            assert {(row.consumer, row.event_id) for row in rows} == set(effects), "row and effect go together"

    def comes_to_rest(self) -> None:
        for who, which in [(who, which) for who in range(2) for which in range(3)]:
            self.deliver(which, who, "done")
        self.no_effect_happens_twice()
        assert set(self.effects()) == {(name, event.id) for name in self.consumers for event in self.events}

    def expect(self, results: list[Any], which: int, who: int, end: str) -> None:
        """A delivery that was answered is done; one that failed failed as it was told to, and comes again."""
        for result in results:
            if result is None:
                self.done.add((self.consumers[who], self.events[which].id))
            elif not isinstance(result, Broke | StoreAway) or end == "done":
                raise result

    async def delivery(self, which: int, who: int, end: str) -> None:
        name, event = self.consumers[who], self.events[which]
        spec = ConsumerSpec("FACT", name, "fact.>", ack_wait=30, max_ack_pending=10, max_deliver=3, has_inbox=True)

        async def effect(session: Session, event: TurnCompleted) -> None:
            subject = f"effect.{self.user}.{name}.{event.id}"
            await outbox.write(session, [OutboxMessage(subject, b"{}")])
            if end == "breaks":
                raise Broke

        await in_one_transaction(Losing(self.shore, end == "reply is lost"), spec, effect)(event)  # type: ignore[arg-type]

    def effects(self) -> Counter[tuple[str, UUID]]:
        rows = self.shore.rows("select subject from outbox where subject like :mine", mine=f"effect.{self.user}.%")
        found = [row.subject.split(".") for row in rows]
        return Counter((name, UUID(id)) for _, _, name, id in found)


class Losing:
    """The runner's database; the reply to a commit may be lost."""

    def __init__(self, shore: Shore, loses: bool) -> None:
        self._shore = shore
        self._loses = loses

    @asynccontextmanager
    async def session(self, user_id: UUID) -> AsyncGenerator[Session]:
        async with self._shore.database.runner.session(user_id) as session:
            yield session
        if self._loses:
            raise StoreAway


async def _grant(shore: Shore) -> None:
    """What the migration of a service that hears events gives it; the runner hears none of its own."""
    connection: Any = await asyncpg.connect(shore.servers.superuser_url)
    await connection.execute("grant select, insert on inbox to turn_runner")
    await connection.close()


def test_inbox(shore: Shore) -> None:
    shore.run(_grant(shore))
    explore(Inbox, shore, examples=10, steps=12)
