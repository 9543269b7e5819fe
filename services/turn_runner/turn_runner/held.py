"""A claimed turn in this runner's hands: its log, its commits, and what has been committed so far.

Everything that is done to a turn goes through here: a commit needs a good lease and our epoch, and whatever waits
can be halted at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar
from uuid import UUID

from chassis import logs
from chassis.relay import OutboxRelay
from contracts.batches import BatchId
from contracts.chunks import Chunk
from llm import Models, Provider
from llm.catalogue import Catalogue
from store import Session, Store, StoreAway, turns
from store.turns import Claim, PartRow, TurnLost
from store.turns.endings import start_chunk
from turn_runner.lease import Lease
from turn_runner.log import Logs
from turn_runner.outputs import Outputs
from turn_runner.seen import KeptPrompts
from turn_runner.settings import RunnerSettings
from turn_runner.titles import Titles
from turn_runner.web import Web

log = logs.get(__name__)
T = TypeVar("T")

Halt = Literal["user", "shutdown"]


class Halted(Exception):
    """Somebody asked the turn to stop, or the process can wait no longer."""


class HandOver(Exception):
    """The process is going down: the turn goes back to the queue, here and now, for another to take up."""


class Providers(Protocol):
    """Who serves a user's turns."""

    async def of(self, user_id: UUID, *, has_own: bool = True) -> tuple[Provider, ...]:
        """Raises `StoreAway`, or `NotConfigured` while keys cannot be opened."""
        ...


@dataclass(frozen=True)
class Workshop:
    """What every turn of this runner works with."""

    settings: RunnerSettings
    store: Store
    models: Models
    lease: Lease
    logs: Logs
    relay: OutboxRelay
    limits: turns.Limits
    outputs: Outputs
    web: Web
    users: Providers
    catalogue: Catalogue
    prompts: KeptPrompts
    titles: Titles


class HeldTurn:
    """The holder's side of a turn. Raises `TurnLost` when another epoch writes it, `Halted` when it should stop,
    `HandOver` where it may be given back.
    """

    def __init__(self, workshop: Workshop, claim: Claim) -> None:
        self.work = workshop
        self.claim = claim
        self.log = workshop.logs.open(claim.turn_id, claim.message_id, claim.epoch, claim.commit)
        self.model = claim.model
        """Who was asked last, as the turn's row has it."""
        self.steps = claim.steps
        self.stored = 0
        """Parts of the message that are committed."""
        self.open_calls: dict[UUID, str] = {}
        """Calls that have a row and no result, with their state."""
        self.halted_by: Halt = "user"
        self.is_lost = False
        self.is_changing_epoch = False
        self._halt = asyncio.Event()
        self._hand_over = asyncio.Event()

    @property
    def turn_id(self) -> UUID:
        return self.claim.turn_id

    @property
    def epoch(self) -> int:
        return self.claim.epoch

    @property
    def is_halted(self) -> bool:
        return self._halt.is_set()

    def halt(self, by: Halt) -> None:
        """The first reason stays."""
        if not self._halt.is_set():
            self.halted_by = by
            self._halt.set()

    def hand_over(self) -> None:
        """From the next commit point on, another runner shall go on with this turn."""
        self._hand_over.set()

    def commit_point(self) -> None:
        """Everything so far is committed: a turn that is to be handed over goes no further."""
        if self._hand_over.is_set():
            raise HandOver

    def restore(self, parts: Sequence[Chunk], steps: int, open_calls: dict[UUID, str]) -> None:
        """What older epochs committed."""
        if self.log.cut.number:
            self.log.restore(parts)
        self.stored, self.steps, self.open_calls = len(parts), steps, open_calls

    async def begin(self) -> None:
        """`start` is a batch of its own, and said again only if nothing counts before it."""
        if self.log.cut.number == 0:
            await self.log.write_batch([start_chunk(self.turn_id, self.claim.message_id)])

    async def commit(self, act: Callable[[Session], Awaitable[T]]) -> T:
        """One transaction as the turn's user, only under a good lease; a database that is away is waited for.

        Every act may be tried again as it is (`store.turns.commits`).
        """
        while True:
            await self.work.lease.good()
            if self.is_lost:
                raise TurnLost
            try:
                async with self.work.store.session(self.claim.user_id) as session:
                    return await act(session)
            except StoreAway as away:
                log.warning("commit waits", turn_id=str(self.turn_id), reason=str(away))
                await self.work.lease.next_beat()

    async def patiently(self, act: Callable[[], Awaitable[T]]) -> T:
        """Something that looks into the database by itself; one that is away is waited for."""
        while True:
            try:
                return await act()
            except StoreAway as away:
                log.warning("turn waits", turn_id=str(self.turn_id), reason=str(away))
                await self.work.lease.next_beat()

    async def rest(self, seconds: float) -> None:
        """A pause in which nothing is under way, so that halting and handing over end it."""
        wanted = [asyncio.ensure_future(event.wait()) for event in (self._halt, self._hand_over)]
        try:
            await asyncio.wait(wanted, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in wanted:
                each.cancel()
        if self.is_halted:
            raise Halted

    async def interruptible(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits `work`, but drops it at once when the turn is halted."""
        task = asyncio.ensure_future(work)
        halted = asyncio.ensure_future(self._halt.wait())
        try:
            await asyncio.wait({task, halted}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise Halted
            return task.result()
        finally:
            halted.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})  # so that the model's connection is closed before anything else is said

    async def supersede(self) -> None:
        """What was said since the last commit no longer counts: a cut of our own, under a higher epoch."""
        self.is_changing_epoch = True
        try:
            epoch = await self.commit(lambda session: turns.raise_epoch(session, self.claim))
            commit = await self.commit(self._last_commit)
            self.claim = replace(self.claim, epoch=epoch)
        finally:
            self.is_changing_epoch = False
        self.log.supersede(epoch, commit, self.stored)
        await self.begin()

    def new_parts(self) -> list[PartRow]:
        """Rows for the parts that are not committed yet."""
        rows: list[PartRow] = []
        for ordinal, part in enumerate(self.log.reducer.parts[self.stored :], self.stored):
            if turns.is_tool(part):
                rows.append(PartRow(ordinal, self.steps, "tool", turns.fixed_of(part), UUID(part["toolCallId"])))
            else:
                rows.append(PartRow(ordinal, self.steps, part["type"], part))
        return rows

    async def _last_commit(self, session: Session) -> BatchId:
        state = await turns.state(session, self.turn_id)
        if state is None:
            raise TurnLost
        return state.commit
