"""One runner on the real Postgres, between a model that does what a test says and a bus that loses what a test wants.

After every commit it is looked whether what Postgres now holds is what the counting batches up to the commit's number
show, and whether the log has all of them (turns.md, "Commit points").
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from blobs import FolderBlobs
from bus.publish import AckedPublisher
from chassis.pools import Pool
from chassis.relay import OutboxRelay
from contracts.batches import Batch, BatchId, unpack
from contracts.reducer import Reducer
from llm import Call, Event, Finish, Model, Request, StreamBroken, TextDelta, ToolCallDelta, ToolCallStart
from store import Session, Store
from store.turns import Claim, stored_parts
from tests.kit.lossy_bus import LossyBus, Sent
from tests.kit.turns import ROOMY, Database
from tests.kit.workshop import model_side
from turn_runner.held import Workshop
from turn_runner.lease import Lease
from turn_runner.log import Logs, Pace
from turn_runner.outputs import Outputs
from turn_runner.settings import RunnerSettings
from turn_runner.turn import Turn
from turn_runner.web import Web

BREAKS = StreamBroken("The model's answer broke off.", reason="lost", started=True)
Said = Sequence[Event | Exception]


class Played(Model):
    """Answers with one of these after the other; an exception among the events breaks the stream there."""

    id = "test/played"

    def __init__(self, *answers: Said) -> None:
        self.answers = list(answers)
        self.calls = 0
        self.requests: list[Request] = []
        self.on_call: Callable[[], Any] | None = None

    def call(self, request: Request) -> Call:
        self.requests.append(request)
        return _PlayedCall(self)

    def resolve(self, model_id: str | None = None, **_: Any) -> Model:
        """As `llm.Models` does."""
        return self


class _PlayedCall(Call):
    def __init__(self, model: Played) -> None:
        super().__init__()
        self._model = model

    async def stream(self) -> AsyncIterator[list[Event]]:
        self._model.calls += 1
        if self._model.on_call is not None:
            await self._model.on_call()
        for event in self._model.answers.pop(0):
            await asyncio.sleep(0)
            if isinstance(event, Exception):
                raise event
            yield [event]

    async def aclose(self) -> None:
        """There is no connection."""


def says(*words: str) -> list[Event]:
    return [*(TextDelta(word) for word in words), Finish("stop")]


def asks(*expressions: str, tool: str = "calculator", before: str = "Let me see. ") -> list[Event]:
    """Calls of one step, side by side."""
    events: list[Event] = [TextDelta(before)]
    for index, expression in enumerate(expressions):
        key = "expression" if tool == "calculator" else "name"
        events += [ToolCallStart(index, f"p{index}", tool), ToolCallDelta(index, json.dumps({key: expression}))]
    return [*events, Finish("tool_calls")]


class Hourglass(Pace):
    """No window: every chunk is a batch."""

    def window(self, previous: float, gap: float) -> float:
        return 0.0


class Workbench:
    """`bus.sent` is what the runner published; `stored` what of it the log has acknowledged."""

    def __init__(self, database: Database, model: Played) -> None:
        self.database = database
        self.model = model
        self.bus = LossyBus(acks="at once")
        self.acknowledged: set[int] = set()
        self.commits: list[BatchId] = []
        self.said: list[str] = []
        self.workshop: Workshop
        self.lease: Lease

    @classmethod
    @asynccontextmanager
    async def opened(cls, database: Database, blobs: Path, *answers: Said) -> AsyncGenerator[Workbench]:
        bench = cls(database, Played(*answers))
        async with AsyncExitStack() as stack:
            await bench._set_up(stack, blobs)
            yield bench

    async def _set_up(self, stack: AsyncExitStack, blobs: Path) -> None:
        settings = RunnerSettings(model_retry_pause=0.01, titles=False)
        store: Any = Looking(self)
        self.lease = Lease(store, name="bench", slots=8, every=1.5, lease=600.0, trust=600.0)
        assert await self.lease.beat(_Nobody())
        stack.push_async_callback(self.lease.leave)
        publisher: Any = AckedPublisher(self.bus)  # type: ignore[arg-type]
        await publisher.start()
        logs = Logs(self.bus, publisher, Hourglass(), most_unacknowledged=1 << 20)  # type: ignore[arg-type]
        threads = Pool("blobs-of-bench", size=1, queue_limit=8)
        stack.push_async_callback(threads.close)
        kept = {"most_bytes": settings.tool_output_bytes, "most_blob_bytes": settings.blob_bytes}
        outputs = Outputs(FolderBlobs(blobs, threads), threads, store, self.lease, **kept)
        relay = OutboxRelay(store, self._published)
        models: Any = self.model
        side = model_side(store)
        stack.push_async_callback(side["catalogue"].aclose)
        web = Web.of(settings)
        stack.push_async_callback(web.aclose)
        self.workshop = Workshop(settings, store, models, self.lease, logs, relay, ROOMY, outputs, web, **side)

    def turn(self, claim: Claim) -> Turn:
        return Turn(self.workshop, claim)

    async def acknowledge(self, *sent: Sent) -> None:
        await self.bus.acknowledge(*sent)

    # What is looked at

    def batches(self, upto: BatchId | None = None) -> list[Batch]:
        """What counts, in order, of all that was published (up to a commit's number)."""
        newest: dict[BatchId, Batch] = {batch.id: batch for batch in self.bus.batches}
        cuts = {batch.id.epoch: batch.cut for batch in self.bus.batches}
        counting = [
            batch
            for id, batch in newest.items()
            if all(id.number <= cut.number for epoch, cut in cuts.items() if epoch > id.epoch)
            and (upto is None or id.number <= upto.number)
        ]
        return sorted(counting, key=lambda batch: batch.id.number)

    def shown(self, upto: BatchId | None = None) -> list[dict[str, Any]]:
        """The parts that a fresh reader of these batches has."""
        reducer = Reducer()
        for batch in self.batches(upto):
            for line in batch.body.split(b"\n"):
                if line.startswith(b"data: {"):
                    reducer.apply(json.loads(line[6:]))
        return reducer.parts

    async def check_commit(self, turn_id: UUID, store: Store, user_id: UUID) -> None:
        row = await self.database.turn(turn_id)
        commit = BatchId(row.commit_epoch, row.commit_number)
        if commit.number == 0 or (self.commits and self.commits[-1] == commit):
            return
        self.commits.append(commit)
        async with store.session(user_id) as session:
            parts = (await stored_parts(session, [row.message_id]))[row.message_id]
        assert self.shown(commit) == parts, f"the batches up to {commit} do not show what was stored"
        wanted = {batch.id for batch in self.batches(commit)}
        have = {sent.batch.id for sent in self.bus.sent if sent.reply in self.bus.answered}
        assert wanted <= have, f"{commit} was committed before the log had {wanted - have}"

    async def _published(
        self, subject: str, payload: bytes, id: UUID, headers: Mapping[str, str] | None = None
    ) -> None:
        """The relay's word: of a log it is the end batch."""
        self.said.append(subject)
        if subject.startswith("log."):
            assert unpack(payload).is_end


class Looking:
    """The runner's database; behind each commit as a user it is looked at what was committed."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._store = bench.database.runner
        self.turn_id: UUID | None = None

    @asynccontextmanager
    async def session(self, user_id: UUID) -> AsyncGenerator[Session]:
        async with self._store.session(user_id) as session:
            yield session
        rows = await self._bench.database.rows("select id from turns where user_id = :user", user=user_id)
        for row in rows:
            await self._bench.check_commit(row.id, self._store, user_id)

    @asynccontextmanager
    async def system(self) -> AsyncGenerator[Session]:
        async with self._store.system() as session:
            yield session


class _Nobody:
    def holders(self) -> list[Any]:
        return []
