"""Tools in the loop: what a tool with a side effect may count on, and what the model is told of those that fail.

The product has only idempotent tools so far; these stories bring their own, registered for as long as they are told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from store.turns.endings import UNKNOWN
from tests.flow.stories import message_of, registered, thread_of
from tests.kit.model import ScriptedModel
from tests.kit.story import step
from tests.kit.town import Town
from tests.kit.turns import Database
from turn_runner.tools import PROFILES, TOOLS, Tool, ToolContext, ToolFailed
from turn_runner.tools.tool import Input


class Errand(Input):
    name: str = "errand"


@dataclass
class Errands:
    """What the tools did, and what they wait for."""

    begun: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, wanted: Errand, _: ToolContext) -> dict[str, str]:
        self.begun.append(wanted.name)
        self.started.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.append(wanted.name)
            raise
        return {"done": wanted.name}

    async def hurry(self, wanted: Errand, _: ToolContext) -> dict[str, str]:
        self.begun.append(wanted.name)
        return {"done": wanted.name}

    async def refuse(self, _: Errand, __: ToolContext) -> None:
        raise ToolFailed("The shop is closed.")

    async def crash(self, _: Errand, __: ToolContext) -> None:
        raise ZeroDivisionError("secret detail")

    async def pour(self, _: Errand, __: ToolContext) -> str:
        return "much " * 100_000

    def tools(self) -> list[Tool[Any]]:
        def tool(name: str, run: Any, **how: Any) -> Tool[Any]:
            return Tool(
                name=name, title=name, summary=name, description=name, input=Errand, run=run, is_idempotent=False, **how
            )

        return [
            tool("wait", self.wait),
            tool("hurry", self.hurry),
            tool("dawdle", self.wait, timeout=0.05),
            tool("refuse", self.refuse),
            tool("crash", self.crash),
            tool("pour", self.pour),
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


@pytest.fixture(scope="module")
async def town(town: Town) -> Town:
    await registered(town)
    return town


@dataclass
class Asked:
    """A message under way, and its thread."""

    thread_id: str
    posting: asyncio.Task[Any]

    @classmethod
    async def of(cls, town: Town, words: str) -> Asked:
        thread_id = await thread_of(town)
        url = f"/api/threads/{thread_id}/turn"
        return cls(thread_id, asyncio.create_task(town.browser.post(url, json={"message": words})))

    async def answer(self, town: Town) -> dict[str, Any]:
        """The message, which is the same on the wire and in the store."""
        streamed = message_of((await asyncio.wait_for(self.posting, 20)).content)
        kept = (await town.browser.get(f"/api/threads/{self.thread_id}/messages")).json()["items"][-1]
        assert streamed == kept
        return kept

    async def calls(self, database: Database) -> dict[str, Any]:
        row = await database.row("select id from turns where thread_id = :t", t=UUID(self.thread_id))
        return {call.name: call for call in await database.calls(row.id)}


def parts(message: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {p["type"].removeprefix("tool-"): p for p in message["parts"] if p["type"].startswith("tool-")}


async def test_a_side_effect_is_known_to_have_started_before_it_starts(
    town: Town, database: Database, errands: Errands
) -> None:
    asked = await Asked.of(town, 'effect [[tool=wait:{"name": "once"}]] [[text="Done."]]')

    with step("A tool that is not idempotent runs only after its row says `started`, in a commit of its own."):
        await asyncio.wait_for(errands.started.wait(), 10)
        assert (await asked.calls(database))["wait"].state == "started"

    with step("Its result is shown on the log, then committed; the model gets it in the next step."):
        errands.go.set()
        message = await asked.answer(town)
        assert parts(message)["wait"]["output"] == {"done": "once"}
        assert (await asked.calls(database))["wait"].state == "done"
        assert errands.begun == ["once"]


async def test_a_stop_in_the_middle_of_a_side_effect_says_that_nobody_knows(
    town: Town, database: Database, errands: Errands, model: ScriptedModel
) -> None:
    asked = await Asked.of(town, 'halfway [[tool=wait:{"name": "half"} tool=hurry:{"name": "whole"}]]')
    await asyncio.wait_for(errands.started.wait(), 10)

    with step("A stop cancels the tool that runs and does not ask the model again."):
        await town.browser.delete(f"/api/threads/{asked.thread_id}/turn")
        message = await asked.answer(town)
        assert errands.cancelled == ["half"]
        assert len(model.served(user="halfway")) == 1

    with step("What was started and did not end has an unknown outcome, for the model and for the person."):
        shown = parts(message)
        assert shown["wait"]["errorText"] == UNKNOWN
        calls = await asked.calls(database)
        assert (calls["wait"].state, calls["wait"].error_text) == ("done", UNKNOWN)
        assert message["metadata"]["retinue"]["status"] == "stopped"


async def test_calls_run_side_by_side_and_the_model_gets_their_results_in_its_order(
    town: Town, errands: Errands, model: ScriptedModel
) -> None:
    words = 'abreast [[tool=wait:{"name": "slow"} tool=hurry:{"name": "quick"}]] [[text="Both."]]'
    asked = await Asked.of(town, words)
    await asyncio.wait_for(errands.started.wait(), 10)
    assert not asked.posting.done()
    errands.go.set()
    message = await asked.answer(town)
    assert [part["output"]["done"] for part in parts(message).values()] == ["slow", "quick"]
    told = model.served(user="abreast")[-1]["messages"]
    assert [m["role"] for m in told] == ["system", "user", "assistant", "tool", "tool"]
    assert ["slow" in told[3]["content"], "quick" in told[4]["content"]] == [True, True]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("refuse", "The shop is closed."),
        ("crash", "crash broke; this is a fault of the system, not of the input."),
        ("dawdle", "dawdle did not finish within 0.05 s."),
    ],
)
async def test_a_tool_that_fails_is_a_result_that_the_model_acts_on(
    town: Town, errands: Errands, model: ScriptedModel, name: str, said: str
) -> None:
    asked = await Asked.of(town, f"failing-{name} [[tool={name}:{{}}]] [[text=Pity.]]")
    message = await asked.answer(town)
    assert parts(message)[name]["errorText"] == said
    assert message["metadata"]["retinue"]["ended_by"] == "reply"
    assert said in model.served(user=f"failing-{name}")[-1]["messages"][-1]["content"]
    assert "secret" not in str(message)


async def test_an_output_that_is_too_large_is_cut_and_says_so(
    town: Town, errands: Errands, model: ScriptedModel
) -> None:
    asked = await Asked.of(town, "flood [[tool=pour:{}]] [[text=Wet.]]")
    output = parts(await asked.answer(town))["pour"]["output"]
    most = town.runner.settings.tool_output_bytes
    assert len(output["text"]) <= most
    left_out = output["left_out"]
    assert left_out["bytes"] > 200_000
    whole = await town.browser.get(f"/api/blobs/{left_out['blob']}")
    assert len(whole.content) == left_out["of"] == left_out["bytes"] + len(output["text"].encode())
    assert whole.text.startswith(output["text"])
    assert len(model.served(user="flood")[-1]["messages"][-1]["content"]) <= most + 200


async def test_what_is_no_wake_up_is_dropped_and_the_next_one_is_heard(town: Town, model: ScriptedModel) -> None:
    for junk in (b"", b"{}", b"\xff", b'{"user_id": "x", "turn_id": "y"}', b'{"turn_id": null}'):
        await town.wake(junk)
    asked = await Asked.of(town, "after-junk [[tokens=3]]")
    assert (await asked.answer(town))["metadata"]["retinue"]["status"] == "finished"
