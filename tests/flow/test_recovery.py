"""A runner dies, or is told to go, in the middle of an answer: another goes on where the last commit left it.

The death is played inside one process: the turn's task ends between two of its steps and says nothing more, which is
all that the database, the log and the viewers see of a killed process (tests/integration/test_recovery.py kills real
ones).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from bus.connection import connect
from contracts.ids import uuid7
from contracts.subjects import log_subject
from contracts.turns import TurnRequested
from store.system import sweep
from store.turns.endings import UNKNOWN
from tests.flow.stories import message_of, registered, thread_of
from tests.kit.model import ScriptedModel
from tests.kit.stack import Servers
from tests.kit.story import step
from tests.kit.town import Town, countdown, town_on
from tests.kit.turns import Database
from tests.kit.waiting import awaited
from turn_runner.tools import PROFILES, TOOLS, Tool, ToolContext
from turn_runner.tools.tool import Input


class Errand(Input):
    name: str = "errand"


@dataclass
class Errands:
    """Tools that say when they run, and end when they may."""

    begun: list[str] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, wanted: Errand, _: ToolContext) -> dict[str, str]:
        self.begun.append(wanted.name)
        self.started.set()
        await self.go.wait()
        return {"done": wanted.name}

    async def hurry(self, wanted: Errand, _: ToolContext) -> dict[str, str]:
        self.begun.append(wanted.name)
        return {"done": wanted.name}

    def tools(self) -> list[Tool[Any]]:
        def tool(name: str, run: Any, *, again: bool) -> Tool[Any]:
            described = {"title": name, "summary": name, "description": name}
            return Tool(name=name, **described, input=Errand, run=run, is_idempotent=again, timeout=60)

        return [
            tool("pay", self.wait, again=False),
            tool("look", self.wait, again=True),
            tool("hurry", self.hurry, again=False),
        ]


@pytest.fixture
def errands() -> Iterator[Errands]:
    made = Errands()
    web = PROFILES["web"]
    added = {tool.name: tool for tool in made.tools()}
    TOOLS.update(added)
    PROFILES["web"] = (*web, *added)
    yield made
    PROFILES["web"] = web
    for name in added:
        del TOOLS[name]


@pytest.fixture
async def town(servers: Servers, model: ScriptedModel) -> AsyncIterator[Town]:
    async with town_on(servers, model.url) as opened:
        await registered(opened)
        yield opened


@dataclass
class Asked:
    """A message under way; `posting` is the window that it was written in, and watches."""

    town: Town
    database: Database
    servers: Servers
    thread_id: str
    posting: asyncio.Task[Any]
    turn_id: UUID

    @classmethod
    async def of(cls, town: Town, database: Database, servers: Servers, model: ScriptedModel, words: str) -> Asked:
        thread_id = await thread_of(town)
        url = f"/api/threads/{thread_id}/turn"
        posting = asyncio.create_task(town.browser.post(url, json={"message": words}))
        await model.wait(started=1, user=words.split()[0])
        row = await database.row("select id from turns where thread_id = :t", t=UUID(thread_id))
        return cls(town, database, servers, thread_id, posting, row.id)

    async def row(self) -> Any:
        return await self.database.turn(self.turn_id)

    async def until_said(self, words: str, *, batches: int = 1, seconds: float = 10) -> None:
        """Once so many batches of the log hold this."""
        client = await connect(self.servers.nats_url("admin"), "test-listener")
        try:
            heard = await client.jetstream().subscribe(log_subject(self.turn_id), ordered_consumer=True)
            async with asyncio.timeout(seconds):
                while batches:
                    batches -= words.encode() in (await heard.next_msg(seconds)).data
        finally:
            await client.close()

    async def until_done(self, name: str) -> None:
        """Once this call has a result."""

        async def is_done() -> bool:
            calls = await self.database.calls(self.turn_id)
            return any(call.name == name and call.state == "done" for call in calls)

        await awaited(is_done, what=f"{name} is done")

    async def die(self) -> None:
        """The holder is gone, between one moment and the next."""
        (task,) = [task for task in asyncio.all_tasks() if task.get_name() == f"turn-{self.turn_id}"]
        task.cancel()
        await asyncio.wait({task})

    async def swept(self) -> None:
        """What the sweep does within a second of the lease's end."""
        runner = self.town.runner
        async with runner.store.system() as session:
            found = await sweep.recover_orphans(
                session, runner.lease.id, self.town.slots.held, runner.limits, budget=runner.settings.recovery_budget
            )
        runner.relay.after_commit(found.outbox)

    async def answer(self) -> dict[str, Any]:
        """The message: the same for whoever comes late, and in the store."""
        await asyncio.wait_for(self.posting, 20)
        late = await self.town.browser.get(f"/api/threads/{self.thread_id}/turn", params={"turn": str(self.turn_id)})
        kept = (await self.town.browser.get(f"/api/threads/{self.thread_id}/messages")).json()["items"][-1]
        assert message_of(late.content) == kept
        return kept


def parts(message: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {p["type"].removeprefix("tool-"): p for p in message["parts"] if p["type"].startswith("tool-")}


def text_of(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


async def test_an_answer_whose_runner_died_in_the_middle_of_its_text_is_finished_by_another(
    town: Town, database: Database, model: ScriptedModel, servers: Servers
) -> None:
    asked = await Asked.of(town, database, servers, model, "widow [[tokens=40 rate=40]]")

    with step("The runner dies while the model speaks; the turn's row says `running`, and nobody writes any more."):
        await asked.until_said("text-delta", batches=5)
        await asked.die()
        assert (await asked.row()).status == "running"

    with step("The sweep puts the turn back into the queue with a wake-up; a runner claims it under the next epoch."):
        await asked.swept()
        await model.wait(ended=2, user="widow")
        message = await asked.answer()
        row = await asked.row()
        assert (row.status, row.ended_by, row.epoch, row.recoveries) == ("finished", "reply", 2, 1)

    with step("Nothing was committed of the first answer: the model is asked once more, and its text is the only one."):
        first, second = model.served(user="widow")
        assert first["messages"] == second["messages"]
        assert len(text_of(message).split()) == 40
        assert b"data-superseded" in asked.posting.result().content

    with step(
        "The ledger has one attempt for each call; the interrupted one is an estimate, by what was sent and what the "
        "log holds, and says so."
    ):
        interrupted, done = await database.attempts(asked.turn_id)
        assert (interrupted.state, interrupted.is_estimated, interrupted.epoch) == ("interrupted", True, 1)
        assert interrupted.input_tokens > 0
        assert 0 < interrupted.output_tokens < done.output_tokens
        assert (done.state, done.is_estimated, done.epoch) == ("done", False, 2)
        ledger = await database.row("select * from ledger where turn_id = :t", t=asked.turn_id)
        assert (ledger.attempts, ledger.is_estimated) == (2, True)


async def test_after_a_tool_has_ended_it_is_never_run_again(
    town: Town, database: Database, model: ScriptedModel, servers: Servers, errands: Errands
) -> None:
    words = 'errand-done [[tool=hurry:{"name": "once"}]] [[tokens=40 rate=40]]'
    asked = await Asked.of(town, database, servers, model, words)

    with step("A tool has ended and its result is committed; the runner dies in the middle of the next model call."):
        await asked.until_said("text-delta")
        await asked.die()
        await asked.swept()

    with step("The next holder asks the model with the very bytes that it had got, result included; no tool runs."):
        _, second, third = await model.wait(ended=3, user="errand-done")
        message = await asked.answer()
        assert second["messages"] == third["messages"]
        assert errands.begun == ["once"]
        assert parts(message)["hurry"]["output"] == {"done": "once"}
        assert [part["type"] for part in message["parts"]] == ["step-start", "tool-hurry", "step-start", "text"]

    with step("Three calls, three attempts: what was complete keeps its tokens."):
        states = [(attempt.epoch, attempt.state) for attempt in await database.attempts(asked.turn_id)]
        assert states == [(1, "done"), (1, "interrupted"), (2, "done")]


async def test_a_side_effect_that_was_under_way_is_not_repeated_and_nobody_is_told_that_it_worked(
    town: Town, database: Database, model: ScriptedModel, servers: Servers, errands: Errands
) -> None:
    words = 'under-way [[tool=pay:{"name": "bill"} tool=hurry:{"name": "other"}]] [[text="I will check."]]'
    asked = await Asked.of(town, database, servers, model, words)

    with step("Two tools run side by side; one has ended, the other may have taken effect when the runner dies."):
        await asyncio.wait_for(errands.started.wait(), 10)
        await asked.until_done("hurry")
        await asked.die()
        await asked.swept()

    with step("Model and person are told: interrupted, outcome unknown. It does not run again."):
        message = await asked.answer()
        assert parts(message)["pay"]["errorText"] == UNKNOWN
        assert parts(message)["hurry"]["output"] == {"done": "other"}
        assert sorted(errands.begun) == ["bill", "other"]
        told = model.served(user="under-way")[-1]["messages"]
        assert UNKNOWN in told[-2]["content"]
        assert text_of(message) == "I will check."


async def test_a_harmless_tool_that_was_under_way_runs_again(
    town: Town, database: Database, model: ScriptedModel, servers: Servers, errands: Errands
) -> None:
    asked = await Asked.of(town, database, servers, model, 'harmless [[tool=look:{"name": "twice"}]] [[text="Seen."]]')

    with step("A tool that is declared idempotent is interrupted by the death of its runner."):
        await asyncio.wait_for(errands.started.wait(), 10)
        await asked.die()
        errands.go.set()

    with step("The next holder runs it again, with the same input, under the same call; the model is not asked again."):
        await asked.swept()
        message = await asked.answer()
        assert errands.begun == ["twice", "twice"]
        assert parts(message)["look"]["output"] == {"done": "twice"}
        assert len(model.served(user="harmless")) == 2


async def test_a_runner_that_leaves_hands_its_turns_over(
    town: Town, database: Database, model: ScriptedModel, servers: Servers, errands: Errands
) -> None:
    asked = await Asked.of(town, database, servers, model, 'relay-race [[tool=pay:{"name": "bill"}]] [[text="Paid."]]')
    await asyncio.wait_for(errands.started.wait(), 10)

    with step("Told to go, a runner lets each turn come to its next commit point: here, the end of a tool."):
        draining = asyncio.create_task(town.slots.drain(countdown(30)))
        await asyncio.sleep(0)
        assert (await asked.row()).status == "running"
        errands.go.set()
        await asyncio.wait_for(draining, 10)

    with step(
        "There the turn goes back to the queue by itself, with a wake-up; nobody died, so no recovery is counted."
    ):
        row = await asked.row()
        assert (row.status, row.runner_id, row.recoveries) == ("queued", None, 0)
        assert len(town.traffic.about(asked.turn_id, "turn.requested.v1")) == 2
        assert list(town.slots.holders()) == []

    with step("Another runner goes on with the next model call; the tool is not run again."):
        async with town_on(servers, model.url) as other:
            user_id = (await asked.row()).user_id
            await other.wake(TurnRequested(user_id=user_id, turn_id=asked.turn_id).to_bytes())
            message = await asked.answer()
        assert text_of(message) == "Paid."
        assert parts(message)["pay"]["output"] == {"done": "bill"}
        assert errands.begun == ["bill"]
        assert [a.state for a in await database.attempts(asked.turn_id)] == ["done", "done"]


async def test_a_runner_whose_patience_is_over_gives_its_turns_back_as_they_are(
    town: Town, database: Database, model: ScriptedModel, servers: Servers
) -> None:
    asked = await Asked.of(town, database, servers, model, "last-orders [[tokens=60 rate=20]]")
    await asked.until_said("text-delta", batches=5)

    with step(
        "When the grace is over, the model's call is dropped and settled with what was streamed, as an estimate."
    ):
        await town.slots.drain(countdown(0.0))
        (served,) = await model.wait(ended=1, user="last-orders")
        assert served["outcome"] == "cancelled"
        (attempt,) = await database.attempts(asked.turn_id)
        assert (attempt.state, attempt.outcome, attempt.is_estimated) == ("interrupted", "released", True)
        assert attempt.output_tokens > 0

    with step("The turn is in the queue, not failed: another runner answers, and the first text does not count."):
        assert (await asked.row()).status == "queued"
        async with town_on(servers, model.url) as other:
            user_id = (await asked.row()).user_id
            await other.wake(TurnRequested(user_id=user_id, turn_id=asked.turn_id).to_bytes())
            message = await asked.answer()
        assert len(text_of(message).split()) == 60
        assert b"data-superseded" in asked.posting.result().content


async def test_a_runner_that_leaves_claims_nothing_any_more(
    town: Town, database: Database, model: ScriptedModel, servers: Servers
) -> None:
    thread_id = UUID(await thread_of(town))

    with step("A wake-up that reaches a runner on its way out goes back to the bus, for another to get at once."):
        town.slots.close()
        quietly = {"prefer": "respond-async"}
        url = f"/api/threads/{thread_id}/turn"
        answer = await town.browser.post(url, json={"message": "too-late [[tokens=5]]"}, headers=quietly)
        turn_id = UUID(answer.json()["turn"])
        await town.traffic.until(turn_id, "turn.requested.v1")
        assert (await database.turn(turn_id)).status == "queued"

    with step("The other answers, in the first epoch: nobody had it before."):
        async with town_on(servers, model.url) as other:
            user_id = (await database.turn(turn_id)).user_id
            await other.wake(TurnRequested(user_id=user_id, turn_id=turn_id).to_bytes())
            await other.traffic.until(turn_id, "turn.completed.v1")
        row = await database.turn(turn_id)
        assert (row.status, row.epoch, row.recoveries) == ("finished", 1, 0)


async def test_a_stop_is_not_forgotten_by_a_runner_that_leaves(
    town: Town, database: Database, model: ScriptedModel, servers: Servers, errands: Errands
) -> None:
    asked = await Asked.of(
        town, database, servers, model, 'stop-then-go [[tool=pay:{"name": "bill"}]] [[text="Paid."]]'
    )
    await asyncio.wait_for(errands.started.wait(), 10)

    with step("Somebody stopped the turn, and only the row knows; the runner is told to go at the same moment."):
        await database.rows("update turns set stop_requested_at = now() where id = :t", t=asked.turn_id)
        draining = asyncio.create_task(town.slots.drain(countdown(30)))
        errands.go.set()
        await asyncio.wait_for(draining, 10)

    with step("The turn is not given back: it ends as stopped, with what it has."):
        message = await asked.answer()
        row = await asked.row()
        assert (row.status, row.ended_by) == ("stopped", "user")
        assert parts(message)["pay"]["output"] == {"done": "bill"}


async def test_a_turn_that_outlives_too_many_runners_fails_in_words(
    town: Town, database: Database, model: ScriptedModel, servers: Servers
) -> None:
    asked = await Asked.of(town, database, servers, model, f"poison-{uuid7().hex[-8:]} [[tokens=2000 rate=10]]")

    with step("A turn whose runners die, one after the other, is brought back as often as the budget says."):
        budget = town.runner.settings.recovery_budget
        for deaths in range(1, budget + 1):
            await asked.die()
            await asked.swept()
            await model.wait(started=deaths + 1, user="poison")
            assert (await asked.row()).recoveries == deaths

    with step("Then it fails, with an end batch, for everybody who watches."):
        await asked.die()
        await asked.swept()
        message = await asked.answer()
        row = await asked.row()
        assert (row.status, row.ended_by, row.recoveries) == ("failed", "interrupted", budget)
        assert "try again" in message["metadata"]["retinue"]["error"]["message"]
        assert [a.state for a in await database.attempts(asked.turn_id)] == ["interrupted"] * (budget + 1)
