"""The outbox: what was committed reaches the bus at least once, and nothing that was not, whoever crashes when.

Two processes relay from the real table with the real relay. The bus is a list here, so that a test can let a process
die between publishing and marking, lose an acknowledgement, or refuse a row.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from chassis.relay import OutboxRelay
from contracts.ids import uuid7
from store import Session, StoreAway, outbox
from store.outbox import OutboxMessage
from tests.property.shore import Shore, explore

WHO = st.integers(0, 1)
COUNT = st.integers(1, 4)
FATES = st.lists(st.sampled_from(["taken", "refused", "unheard", "deadly"]), min_size=2, max_size=6)

NEVER = 3600.0


class Killed(asyncio.CancelledError):
    """The process ends here and now; nobody is told."""


class Process:
    """A relay of a process that may die: then neither the database nor the bus hears of it again."""

    def __init__(self, machine: Outbox) -> None:
        self.is_dead = False
        self._machine = machine
        self.relay = OutboxRelay(self, self._publish, sweep_every=NEVER, batch=2)

    @asynccontextmanager
    async def system(self) -> AsyncGenerator[Session]:
        if self.is_dead:
            raise StoreAway
        async with self._machine.shore.database.door.system() as session:
            yield session
            if self.is_dead:
                raise Killed

    async def _publish(self, subject: str, payload: bytes, id: UUID, headers: Mapping[str, str] | None = None) -> None:
        if self.is_dead:
            raise Killed
        await asyncio.sleep(0)
        fate = self._machine.fates.pop(0) if self._machine.fates else "taken"
        if fate == "refused":
            raise OSError("the bus is away")
        self._machine.heard[id] += 1
        if fate == "unheard":
            raise TimeoutError("the acknowledgement was lost")
        if fate == "deadly":
            self.is_dead = True
            raise Killed


class Outbox(RuleBasedStateMachine):
    shore: Shore

    @initialize()
    def begin(self) -> None:
        self.shore.rows("delete from outbox")  # what other machines said, nobody relays
        self.fates: list[str] = []
        self.heard: Counter[UUID] = Counter()
        self.committed: list[OutboxMessage] = []
        self.processes = [Process(self), Process(self)]

    def teardown(self) -> None:
        if hasattr(self, "processes"):
            self.comes_to_rest()

    @rule(count=COUNT)
    def commit(self, count: int) -> None:
        """The process dies right behind its commit: nobody publishes from memory."""
        self.committed += self.shore.run(self.written(count))

    @rule(who=WHO, count=COUNT, fates=FATES)
    def commit_and_publish(self, who: int, count: int, fates: list[str]) -> None:
        rows = self.shore.run(self.written(count))
        self.committed += rows
        self.fates = fates
        self.shore.run(self.published_from_memory(self.processes[who], rows))

    @rule(count=COUNT)
    def roll_back(self, count: int) -> None:
        self.shore.run(self.abandoned(count))

    @rule(who=WHO, count=COUNT, fates=FATES)
    def sweep(self, who: int, count: int, fates: list[str]) -> None:
        self.commit(count)
        self.fates = fates
        self.shore.together(self.processes[who].relay.sweep())
        self.bury()

    @rule(count=COUNT, fates=FATES)
    def both_sweep_at_once(self, count: int, fates: list[str]) -> None:
        self.commit(count)
        self.fates = fates
        self.shore.together(*(process.relay.sweep() for process in self.processes))
        self.bury()

    @rule(who=WHO)
    def crash(self, who: int) -> None:
        self.processes[who].is_dead = True
        self.bury()

    @invariant()
    def nothing_is_said_that_was_not_committed(self) -> None:
        if hasattr(self, "processes"):
            assert set(self.heard) <= {message.id for message in self.committed}

    def bury(self) -> None:
        """Somebody starts what has died."""
        self.processes = [Process(self) if process.is_dead else process for process in self.processes]

    def comes_to_rest(self) -> None:
        self.fates = []
        self.processes = [Process(self), Process(self)]  # what was refused is not held against anybody
        self.shore.run(self.processes[0].relay.sweep())
        assert set(self.heard) == {message.id for message in self.committed}, "something committed was not said"
        said = self.heard.copy()
        for process in self.processes:
            assert self.shore.run(process.relay.sweep()) == 0
        assert self.heard == said, "what was sent is sent again"
        ids = [message.id for message in self.committed]
        rows = self.shore.rows("select id from outbox where id = any(:ids) and sent_at is null", ids=ids)
        assert rows == [], "a row was sent, and not marked so"

    async def written(self, count: int) -> list[OutboxMessage]:
        rows = [OutboxMessage(f"fact.{uuid7()}.sample.taken.v1", b"{}") for _ in range(count)]
        async with self.shore.database.door.session(uuid7()) as session:
            await outbox.write(session, rows)
        return rows

    async def abandoned(self, count: int) -> None:
        try:
            async with self.shore.database.door.session(uuid7()) as session:
                await outbox.write(session, [OutboxMessage("fact.x.sample.taken.v1", b"{}") for _ in range(count)])
                raise ZeroDivisionError
        except ZeroDivisionError:
            return

    async def published_from_memory(self, process: Process, rows: list[OutboxMessage]) -> None:
        """The process runs for a moment; then it stops in order, or has died."""
        running = asyncio.create_task(process.relay.run())
        await asyncio.sleep(0)
        process.relay.after_commit(rows)
        for _ in range(10):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait({running})
        self.bury()


def test_outbox(shore: Shore) -> None:
    explore(Outbox, shore, examples=12, steps=15)
