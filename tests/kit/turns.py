"""Turns at the level of the store, on the real Postgres: a person at the door, and a runner's commits by hand.

Nothing here happens by itself: no relay, no sweep, no runner process.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from contracts import chunks
from contracts.batches import Batch, BatchId, unpack
from contracts.ids import uuid7
from contracts.turns import TurnStatus
from store import Store, turns
from store.outbox import OutboxMessage
from store.store import driver_url
from store.system import runners
from store.turns import AttemptResult, CallRow, Claim, Ending, Limits, PartRow
from store.turns.endings import closing_chunks, end_batch
from tests.kit.stack import Servers

ROOMY = Limits(per_user=1000, total=1_000_000)
"""So that what other tests left behind holds nobody back."""


@dataclass
class Database:
    """The logins of the services, and the owner's for looking and for making the past."""

    door: Store
    runner: Store
    owner: AsyncEngine
    _people: list[Person] = field(default_factory=list)
    _runners: list[UUID] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def opened(cls, servers: Servers) -> AsyncGenerator[Database]:
        door = Store(servers.role_url("gateway"), servers.role_url("gateway_system"), name="test-door")
        runner = Store(servers.role_url("turn_runner"), servers.role_url("turn_runner_system"), name="test-runner")
        owner = create_async_engine(driver_url(servers.role_url("retinue_owner")), pool_size=2)
        database = cls(door, runner, owner)
        try:
            yield database
        finally:
            await database.forget()
            for each in (door, runner, owner):
                await each.dispose()

    async def person(self) -> Person:
        person = Person(self)
        async with self.door.session(person.user_id) as session:
            await session.execute(
                text("insert into users (id, username, username_key, password_hash) values (:id, :name, :name, 'x')"),
                {"id": person.user_id, "name": str(person.user_id)},
            )
            await session.execute(
                text("insert into agents (id, user_id, name) values (:id, :user, 'Ada')"),
                {"id": person.agent_id, "user": person.user_id},
            )
        self._people.append(person)
        return person

    async def forget(self) -> None:
        """Takes the people away, with all they had, and the runners: no later test shall find their turns."""
        await self.rows("delete from runners where id = any(:runners)", runners=self._runners)
        for person in self._people:
            await self.rows("delete from users where id = :user", user=person.user_id)
        self._people.clear()

    async def rows(self, statement: str, **parameters: Any) -> list[Any]:
        """As the owner, past all policies."""
        async with self.owner.begin() as connection:
            result = await connection.execute(text(statement), parameters)
            return list(result.all()) if result.returns_rows else []

    async def row(self, statement: str, **parameters: Any) -> Any:
        (row,) = await self.rows(statement, **parameters)
        return row

    async def turn(self, turn_id: UUID) -> Any:
        return await self.row("select * from turns where id = :turn", turn=turn_id)

    async def calls(self, turn_id: UUID) -> list[Any]:
        return await self.rows("select * from tool_calls where turn_id = :turn order by step, id", turn=turn_id)

    async def attempts(self, turn_id: UUID) -> list[Any]:
        return await self.rows("select * from attempts where turn_id = :turn order by epoch, number", turn=turn_id)

    async def outbox(self, turn_id: UUID) -> list[str]:
        """Subjects of what was written about a turn, in the order of the alphabet."""
        found = await self.rows("select subject, payload from outbox order by subject")
        wanted = str(turn_id)
        return [row.subject for row in found if wanted in row.subject or wanted.encode() in row.payload]

    async def alive(self, *, lease: float = 60.0, slots: int = 512) -> UUID:
        """A runner whose heartbeat is good for `lease` seconds; below 0 it is dead already."""
        runner_id = uuid7()
        self._runners.append(runner_id)
        async with self.runner.system() as session:
            await runners.beat(session, runner_id, name="test", slots=slots, lease=lease)
        return runner_id

    async def gone(self, runner_id: UUID) -> None:
        async with self.runner.system() as session:
            await runners.leave(session, runner_id)


@dataclass
class Person:
    """Somebody with an account and an agent."""

    database: Database
    user_id: UUID = field(default_factory=uuid7)
    agent_id: UUID = field(default_factory=uuid7)

    async def thread(self) -> UUID:
        thread_id = uuid7()
        async with self.database.door.session(self.user_id) as session:
            await session.execute(
                text("insert into threads (id, user_id, agent_id) values (:id, :user, :agent)"),
                {"id": thread_id, "user": self.user_id, "agent": self.agent_id},
            )
        return thread_id

    async def say(
        self, thread_id: UUID, words: str = "hello", *, limits: Limits = ROOMY, **wish: Any
    ) -> turns.Accepted:
        wanted = turns.Wish(self.user_id, thread_id, [{"type": "text", "text": words}], **wish)
        async with self.database.door.session(self.user_id) as session:
            return await turns.accept(session, wanted, limits)

    async def stop(self, thread_id: UUID, turn_id: UUID | None = None, *, limits: Limits = ROOMY) -> turns.Stopped:
        async with self.database.door.session(self.user_id) as session:
            return await turns.stop(session, thread_id, turn_id, limits)

    async def state(self, turn_id: UUID) -> turns.TurnState | None:
        async with self.database.door.session(self.user_id) as session:
            return await turns.state(session, turn_id)

    async def claim(self, turn_id: UUID, runner_id: UUID | None = None) -> Claim | None:
        async with self.database.runner.session(self.user_id) as session:
            return await turns.claim(session, turn_id, runner_id or uuid7())

    async def running(self, thread_id: UUID | None = None, runner_id: UUID | None = None, **wish: Any) -> Running:
        """A turn that was accepted and claimed."""
        accepted = await self.say(thread_id or await self.thread(), **wish)
        held = await self.claim(accepted.turn_id, runner_id)
        assert held is not None, f"{accepted.status} turns are not claimed"
        return Running(self, held)


@dataclass
class Running:
    """A turn in a runner's hands, whose commits are made one by one; each may be repeated as after a lost reply."""

    person: Person
    held: Claim
    commit: BatchId = field(init=False)
    steps: int = field(init=False)

    def __post_init__(self) -> None:
        self.commit = BatchId(self.held.epoch, self.held.commit.number)
        self.steps = self.held.steps

    @property
    def turn_id(self) -> UUID:
        return self.held.turn_id

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Any]:
        async with self.person.database.runner.session(self.person.user_id) as session:
            yield session

    def next_batch(self) -> BatchId:
        self.commit = BatchId(self.commit.epoch, self.commit.number + 1)
        return self.commit

    async def open_attempt(self, attempt: UUID | None = None, number: int = 1, input_tokens: int | None = None) -> UUID:
        attempt = attempt or uuid7()
        async with self.transaction() as session:
            await turns.open_attempt(
                session,
                self.held,
                attempt,
                step=self.steps,
                number=number,
                model="test/test",
                input_tokens=input_tokens,
            )
        return attempt

    async def ask(self, *calls: CallRow, attempt: UUID | None = None, text: str = "") -> None:
        """(a) The model call has ended, with these calls and this text."""
        attempt = attempt or await self.open_attempt()
        first, step = await self._stored(), self.steps
        parts = [PartRow(first, step, "step-start", {"type": "step-start"})]
        if text:
            parts.append(PartRow(first + 1, step, "text", {"type": "text", "text": text, "state": "done"}))
        for n, call in enumerate(calls, first + len(parts)):
            fixed = {"type": f"tool-{call.name}", "toolCallId": str(call.id)}
            parts.append(PartRow(n, step, "tool", fixed, call.id))
        self.steps += 1
        commit = self.next_batch()
        result = AttemptResult(attempt, "done", "tool_calls" if calls else "stop", input_tokens=10, output_tokens=5)
        async with self.transaction() as session:
            await turns.commit_model_call(
                session, self.held, commit, steps=self.steps, parts=parts, calls=calls, attempt=result
            )

    async def start(self, call_id: UUID) -> bool:
        async with self.transaction() as session:
            return await turns.start_call(session, self.held, call_id)

    async def finish(self, call_id: UUID, output: Any = None, error: str | None = None) -> None:
        commit = self.next_batch()
        async with self.transaction() as session:
            await turns.finish_call(
                session, self.held, commit, steps=self.steps, call_id=call_id, output=output, error_text=error
            )

    def ending(
        self, status: TurnStatus = TurnStatus.FINISHED, ended_by: str = "reply", *, limits: Limits = ROOMY
    ) -> Ending:
        id = BatchId(self.held.epoch, self.commit.number + 1)
        said = [chunks.start(str(self.held.message_id))] if self.commit.number == 0 else []
        said += closing_chunks(self.turn_id, status.value, ended_by)
        return Ending(status, ended_by, self.commit, end_batch(id, self.held.commit, said), limits=limits)

    async def end(self, ending: Ending | None = None) -> list[OutboxMessage]:
        async with self.transaction() as session:
            return await turns.end(session, self.held, ending or self.ending())

    async def row(self) -> Any:
        return await self.person.database.turn(self.turn_id)

    async def _stored(self) -> int:
        """Parts that the message has already."""
        query = "select count(*) as n from message_parts where message_id = :m"
        return (await self.person.database.row(query, m=self.held.message_id)).n


def call(name: str = "calculator", *, idempotent: bool = False, input: Any = None) -> CallRow:
    return CallRow(uuid7(), 0, name, "provider-1", {} if input is None else input, idempotent)


def end_batch_of(messages: list[OutboxMessage]) -> Batch:
    """The one end batch among them."""
    (batch,) = [unpack(message.payload) for message in messages if message.subject.startswith("log.")]
    assert batch.is_end
    return batch
