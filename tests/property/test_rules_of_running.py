"""The rules of a runner, each by the story that goes wrong without it: what `turn_model.py --without RULE` prints.

The runner's own parts on the real Postgres; `workbench.py` looks behind every commit whether log and rows agree.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from contracts.batches import BatchId
from llm import (
    Assistant,
    Finish,
    HostedSearchEnd,
    HostedSearchStart,
    Reasoning,
    ReasoningData,
    ReasoningDelta,
    Source,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from store.system import sweep
from tests.kit.turns import ROOMY, Database, Person
from tests.property.shore import BUDGET, Shore
from tests.property.workbench import BREAKS, Said, Workbench, asks, says


@pytest.fixture
async def database(shore: Shore) -> AsyncIterator[Database]:
    async with Database.opened(shore.servers) as opened:
        yield opened


@pytest.fixture
async def person(database: Database) -> Person:
    return await database.person()


class Benches:
    """Runners that are opened within a test, and closed behind it."""

    def __init__(self, database: Database, folder: Path, stack: AsyncExitStack) -> None:
        self._database = database
        self._folder = folder
        self._stack = stack

    async def open(self, *answers: Said) -> Workbench:
        return await self._stack.enter_async_context(Workbench.opened(self._database, self._folder, *answers))


@pytest.fixture
async def benches(database: Database, tmp_path: Path) -> AsyncIterator[Benches]:
    async with AsyncExitStack() as stack:
        yield Benches(database, tmp_path, stack)


async def taken(person: Person, bench: Workbench) -> Any:
    """A turn that was accepted, claimed by this runner."""
    accepted = await person.say(await person.thread())
    held = await person.claim(accepted.turn_id, bench.lease.id)
    assert held is not None
    return bench.turn(held)


async def crashed(running: asyncio.Task[None], bench: Workbench) -> None:
    """The process is gone: nothing more is said or written, and its lease ends."""
    running.cancel()
    await asyncio.wait({running})
    await bench.database.gone(bench.lease.id)


async def recovered(person: Person, bench: Workbench, turn_id: Any) -> Any:
    async with bench.database.runner.system() as session:
        swept = await sweep.recover_dead(session, ROOMY, budget=BUDGET)
    assert swept.recovered == 1
    held = await person.claim(turn_id, bench.lease.id)
    assert held is not None
    return bench.turn(held)


async def finished(database: Database, turn_id: Any) -> Any:
    row = await database.turn(turn_id)
    assert row.status == "finished"
    return row


async def test_open_attempt(person: Person, database: Database, benches: Benches) -> None:
    """The runner dies while the model is called: the ledger knew of the call before the model did."""
    first, second = await benches.open([TextDelta("Hal")]), await benches.open(says("Hello"))
    turn = await taken(person, first)
    asked = asyncio.Event()

    async def look() -> None:
        (attempt,) = await database.attempts(turn.turn_id)
        assert (attempt.state, attempt.epoch) == ("open", 1)
        asked.set()
        await asyncio.Event().wait()

    first.model.on_call = look
    running = asyncio.create_task(turn.run())
    await asyncio.wait_for(asked.wait(), 10)
    await crashed(running, first)
    await (await recovered(person, second, turn.turn_id)).run()
    attempts = await database.attempts(turn.turn_id)
    assert [(attempt.epoch, attempt.state) for attempt in attempts] == [(1, "interrupted"), (2, "done")]
    assert first.model.calls + second.model.calls == len(attempts)
    await finished(database, turn.turn_id)


async def test_own_cut_raises_epoch(person: Person, database: Database, benches: Benches) -> None:
    """The model's stream breaks behind its first token: what was said is overruled, no number is used twice."""
    bench = await benches.open([TextDelta("Hel"), TextDelta("lo"), BREAKS], says("Good ", "day"))
    turn = await taken(person, bench)
    await turn.run()
    row = await finished(database, turn.turn_id)
    assert row.epoch == 2
    by_id: dict[BatchId, bytes] = {}
    for batch in bench.bus.batches:
        assert by_id.setdefault(batch.id, batch.body) == batch.body, f"two different batches are called {batch.id}"
    assert {batch.id.epoch for batch in bench.bus.batches} == {1, 2}
    assert [part["text"] for part in bench.shown() if part["type"] == "text"] == ["Good day"]
    states = [attempt.state for attempt in await database.attempts(turn.turn_id)]
    assert states == ["failed", "done"]


async def test_one_output_at_a_time(person: Person, database: Database, benches: Benches) -> None:
    """Two tools run side by side; the log is slow, and answers the last first. Each commit shows what it stored."""
    bench = await benches.open(asks("1+1", "2+2", "3+3"), says("Done"))
    bench.bus.acks = "withheld"
    turn = await taken(person, bench)
    running = asyncio.create_task(turn.run())
    await answered_backwards(bench, running)
    await finished(database, turn.turn_id)
    outputs = [part["output"] for part in bench.shown() if part["type"] == "tool-calculator"]
    assert len(outputs) == 3
    assert len(bench.commits) == 5, "the model's call, three results one after the other, the end"


async def test_done_names_number(person: Person, database: Database, benches: Benches) -> None:
    """A result is committed under the number of the batch that shows it."""
    bench = await benches.open(asks("1+1"), says("Two"))
    turn = await taken(person, bench)
    await turn.run()
    row = await finished(database, turn.turn_id)
    (shows,) = [batch.id for batch in bench.batches() if b"tool-output-available" in batch.body]
    assert shows in bench.commits
    assert (row.commit_epoch, row.commit_number) == max(batch.id for batch in bench.bus.batches)


async def test_ack_each(person: Person, database: Database, benches: Benches) -> None:
    """The first batch was lost on its way, the later ones are acknowledged: nothing is committed before it is there."""
    bench = await benches.open(says("One ", "two"))
    bench.bus.acks = "withheld"
    turn = await taken(person, bench)
    running = asyncio.create_task(turn.run())
    sent = await bench.bus.until_sent(4)
    await bench.acknowledge(*sent[1:])
    await until_still(bench)
    assert bench.commits == []
    assert (await turn_row(database, turn)).status == "running"
    await bench.workshop.logs.publish_again()
    assert bench.bus.sent[-1].batch == sent[0].batch
    await answered_backwards(bench, running)
    await finished(database, turn.turn_id)


async def test_cut_in_header(person: Person, database: Database, benches: Benches) -> None:
    """Every batch of an epoch tells its cut, not only the first."""
    first, second = await benches.open(asks("6*7"), [TextDelta("For")]), await benches.open(says("Forty", "-two"))
    turn = await taken(person, first)
    stuck = asyncio.Event()

    async def second_call() -> None:
        if first.model.calls == 2:
            stuck.set()
            await asyncio.Event().wait()

    first.model.on_call = second_call
    running = asyncio.create_task(turn.run())
    await asyncio.wait_for(stuck.wait(), 10)
    cut = first.commits[-1]
    await crashed(running, first)
    second.bus.sent += first.bus.sent
    second.bus.answered |= first.bus.answered
    await (await recovered(person, second, turn.turn_id)).run()
    newer = [batch for batch in second.bus.batches if batch.id.epoch == 2]
    assert len(newer) > 2
    assert {batch.cut for batch in newer} == {cut}
    assert newer[0].id == BatchId(2, cut.number + 1)
    await finished(database, turn.turn_id)


async def turn_row(database: Database, turn: Any) -> Any:
    return await database.turn(turn.turn_id)


async def until_still(bench: Workbench) -> None:
    """Nothing more is sent: whoever waits, waits for us."""
    before = -1
    while before != len(bench.bus.sent):
        before = len(bench.bus.sent)
        await asyncio.sleep(0.05)


async def answered_backwards(bench: Workbench, running: asyncio.Task[None]) -> None:
    """Acknowledges what waits for it, the newest first, until the turn is over."""
    async with asyncio.timeout(20):
        while not running.done():
            await until_still(bench)
            waiting = [sent for sent in bench.bus.sent if sent.reply not in bench.bus.answered]
            await bench.acknowledge(*waiting[::-1])
            await asyncio.sleep(0.01)
    running.result()


async def test_what_a_provider_did_and_thought_survives_a_takeover(
    person: Person, database: Database, benches: Benches
) -> None:
    """Reasoning that goes back, a search of its own and sources: kept with the step, and told alike by who goes on."""
    kept = {"signature": "s", "items": [1]}
    step: Said = [
        ReasoningDelta("Rain or "),
        ReasoningDelta("sun?"),
        ReasoningData("wire:account:model", kept),
        HostedSearchStart("ws_1"),
        HostedSearchEnd("ws_1", "weather Bonn"),
        TextDelta("It rains"),
        Source("https://weather.test/bonn", "Bonn"),
        TextDelta(", I think. "),
        ToolCallStart(0, "call_1", "calculator"),
        ToolCallDelta(0, '```json\n{"expression": "1+1"}\n```'),
        Finish("tool_calls"),
    ]
    first, second = await benches.open(step, says("never")), await benches.open(says("Two."))
    turn = await taken(person, first)
    asked_again = asyncio.Event()

    async def hold_the_second() -> None:
        if first.model.calls == 2:
            asked_again.set()
            await asyncio.Event().wait()

    first.model.on_call = hold_the_second
    running = asyncio.create_task(turn.run())
    await asyncio.wait_for(asked_again.wait(), 10)
    await crashed(running, first)
    second.bus.sent += first.bus.sent
    second.bus.answered |= first.bus.answered
    await (await recovered(person, second, turn.turn_id)).run()
    await finished(database, turn.turn_id)

    (asked,) = second.model.requests
    assert asked == first.model.requests[1], "who goes on asks with the very same words"
    said = asked.messages[-2]
    assert isinstance(said, Assistant)
    assert said.reasoning == (Reasoning("Rain or sun?", "wire:account:model", kept),)
    assert [call.name for call in said.calls] == ["calculator"], "the provider's own search is no call of ours"

    calls = await database.calls(turn.turn_id)
    assert sorted((call.name, call.state, call.is_hosted, *call.input.values()) for call in calls) == [
        ("calculator", "done", False, "1+1"),
        ("web_search", "done", True, "weather Bonn"),
    ]
    rows = await database.rows(
        "select p.kind from message_parts p join turns t on t.message_id = p.message_id where t.id = :t"
        " order by p.ordinal",
        t=turn.turn_id,
    )
    assert [row.kind for row in rows] == [
        "step-start", "reasoning", "tool", "text", "source-url", "tool", "step-start", "text",
    ]  # fmt: skip
