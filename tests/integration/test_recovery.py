"""Runners that are killed at named moments, and one that only slept: others finish what they had begun.

Real servers, a real gateway, two real runners. Whoever reaches an armed point (`chassis.faults`) dies by SIGKILL.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from chassis import faults
from cli.bench.client import TurnClient, Watch
from store.turns.endings import UNKNOWN
from tests.kit.gateway import Gateway, person_at
from tests.kit.model import ScriptedModel
from tests.kit.runner import runner_on
from tests.kit.stack import Servers
from tests.kit.turns import Database
from tests.kit.waiting import awaited

CREW, WARM = 3, 2
MEDIAN_TAKEOVER, WORST_TAKEOVER = 8.0, 12.0
HANDED_OVER = 2.0
"""Seconds; below 1 on a machine that does nothing else. Without a wake-up of its own it would be 5 at least."""

MARK = 'tool=leave_mark:{"name": "NAME", "seconds": 0.2}'
SUM = 'tool=calculator:{"expression": "6*7"}'

ROWS = """
    select (select to_jsonb(t) from turns t where id = :t) as turn,
        (select jsonb_agg(to_jsonb(c) order by c.id) from tool_calls c where turn_id = :t) as calls,
        (select jsonb_agg(to_jsonb(a) order by a.id) from attempts a where turn_id = :t) as attempts,
        (select jsonb_agg(to_jsonb(l)) from ledger l where turn_id = :t) as ledger,
        (select jsonb_agg(to_jsonb(p) order by p.ordinal) from message_parts p
            where message_id = (select message_id from turns where id = :t)) as parts
"""
"""Everything that is written about a turn."""


@dataclass
class Crew:
    """Runners that are replaced when they die, as a supervisor would."""

    servers: Servers
    model: ScriptedModel
    folder: Path
    runners: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)
    _hired: int = 0

    async def complete(self, database: Database) -> None:
        """As many as there should be; enough of them warm, because nobody sweeps in the first seconds of his life."""
        self.runners = {name: runner for name, runner in self.runners.items() if runner.poll() is None}
        while len(self.runners) < CREW:
            self._hire()
        warm = """
            select count(*) as n from runners where name = any(:names) and alive_until > clock_timestamp()
                and started_at < clock_timestamp() - interval '7 seconds'
        """

        async def are_warm() -> bool:
            return (await database.row(warm, names=list(self.runners))).n >= WARM

        await awaited(are_warm, 60, "a crew")

    async def holder(self, database: Database, turn_id: UUID) -> subprocess.Popen[bytes]:
        """The process that has the turn in its hands."""
        query = "select r.name from turns t join runners r on r.id = t.runner_id where t.id = :t"
        return self.runners[(await database.row(query, t=turn_id)).name]

    def marks(self, name: str) -> list[dict[str, Any]]:
        """The side effects under this name."""
        path = self.folder / "marks"
        lines = path.read_text().splitlines() if path.exists() else []
        return [mark for mark in map(json.loads, lines) if mark["name"] == name]

    def close(self) -> None:
        for runner in self.runners.values():
            runner.send_signal(signal.SIGCONT)
        self._stack.close()

    def _hire(self) -> None:
        self._hired += 1
        name = f"recovery-{os.getpid()}-{self._hired}"
        env = {
            "OPENAI_BASE_URL": self.model.url,
            "RETINUE_MODEL": "openai/scripted",
            "RETINUE_FAULTS": str(self.folder),
            "RETINUE_INSTANCE": name,
            "RETINUE_TURNS_PER_USER": "100",
            "RETINUE_STOP_GRACE": "8",
        }
        self.runners[name] = self._stack.enter_context(runner_on(self.servers, env))


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel.started() as running:
        yield running


@pytest.fixture(scope="module")
def own_crew(servers: Servers, model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    made = Crew(servers, model, tmp_path_factory.mktemp("faults"))
    yield made
    made.close()


@pytest.fixture
async def database(servers: Servers) -> AsyncIterator[Database]:
    async with Database.opened(servers) as opened:
        yield opened


@pytest.fixture
async def crew(own_crew: Crew, database: Database) -> Crew:
    await own_crew.complete(database)
    return own_crew


@pytest.fixture
async def client(gateway: Gateway) -> AsyncIterator[TurnClient]:
    person = await asyncio.to_thread(person_at, gateway)
    async with TurnClient(gateway.url, person.token) as opened:
        yield opened


def text_of(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def words_of(message: dict[str, Any]) -> int:
    return sum(len(part["text"].split()) for part in message["parts"] if part["type"] == "text")


def results(message: dict[str, Any]) -> list[Any]:
    return [
        part["errorText"] if part["state"] == "output-error" else part["output"]
        for part in message["parts"]
        if part["type"].startswith("tool-")
    ]


async def whole(client: TurnClient, watch: Watch) -> dict[str, Any]:
    """The message: the same for whoever watched, whoever comes late, and in the store."""
    watched = (await watch.to_end(60)).shown
    late = (await client.watch(watch.thread_id, watch.turn_id).to_end(20)).shown
    stored = (await client.messages(watch.thread_id))[-1]
    assert watched == stored
    assert late == stored
    return stored


def turn_of(watch: Watch) -> UUID:
    return UUID(watch.turn_id or "")


async def speaking(client: TurnClient, words: str) -> Watch:
    """A message whose answer has begun."""
    watch = await client.send(await client.thread(), words)
    await watch.until(lambda message: bool(text_of(message.shown)))
    return watch


async def until(database: Database, turn_id: UUID, condition: str, seconds: float = 30) -> float:
    """When the turn's row was first seen so (seconds of the epoch of clocks)."""
    query = f"select {condition} as is_so from turns where id = :t"

    async def is_so() -> bool:
        return (await database.row(query, t=turn_id)).is_so

    await awaited(is_so, seconds, condition)
    return time.time()


ANSWER = "[[tokens=30 rate=60]]"
TOOL_THEN_ANSWER = '[[{tool}]] [[text="That was it."]]'


@dataclass(frozen=True)
class Kill:
    """What is said, where the runner dies, and what comes of it."""

    point: str
    words: str
    calls: int
    """Model calls in all."""
    states: tuple[str, ...]
    """Of the attempts, in order."""
    result: Any = None
    marks: int = 0
    epochs: int = 2


FORTY_TWO = {"expression": "6*7", "result": 42}
AGAIN, SPOKEN = ("interrupted", "done"), ("done", "done")

KILLS = {
    "claimed": Kill("claimed", ANSWER, 1, ("done",)),
    "before the first chunk": Kill("before_first_chunk", ANSWER, 2, AGAIN),
    "in the middle of text": Kill("mid_text", ANSWER, 2, AGAIN),
    "after the last chunk": Kill("before_commit", ANSWER, 2, AGAIN),
    "after the last chunk of a call": Kill(
        "before_commit", TOOL_THEN_ANSWER.format(tool=MARK), 3, ("interrupted", *SPOKEN), {"left": "NAME"}, marks=1
    ),
    "before a harmless tool": Kill("before_tool", TOOL_THEN_ANSWER.format(tool=SUM), 2, SPOKEN, FORTY_TWO),
    "during a harmless tool": Kill("during_tool", TOOL_THEN_ANSWER.format(tool=SUM), 2, SPOKEN, FORTY_TWO),
    "after a harmless tool": Kill("after_tool", TOOL_THEN_ANSWER.format(tool=SUM), 2, SPOKEN, FORTY_TWO),
    "before a side effect": Kill("before_tool", TOOL_THEN_ANSWER.format(tool=MARK), 2, SPOKEN, UNKNOWN),
    "during a side effect": Kill("during_tool", TOOL_THEN_ANSWER.format(tool=MARK), 2, SPOKEN, UNKNOWN, marks=1),
    "after a side effect": Kill("after_tool", TOOL_THEN_ANSWER.format(tool=MARK), 2, SPOKEN, UNKNOWN, marks=1),
    "before the end batch": Kill("before_end_batch", ANSWER, 1, ("done",), epochs=1),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kill", KILLS.values(), ids=KILLS)
async def test_a_turn_whose_runner_is_killed_is_finished_by_another(
    crew: Crew, client: TurnClient, database: Database, model: ScriptedModel, kill: Kill
) -> None:
    name = f"{kill.point}-{time.monotonic_ns()}"
    faults.arm(crew.folder, kill.point)
    before = len(faults.strikes(crew.folder))
    watch = await client.send(await client.thread(), f"{name} {kill.words.replace('NAME', name)}")
    message = await whole(client, watch)
    strikes = faults.strikes(crew.folder)[before:]
    assert [strike.point for strike in strikes] == [kill.point], "nobody came by there"

    row = await database.turn(turn_of(watch))
    assert (row.status, row.ended_by, row.epoch, row.recoveries) == ("finished", "reply", kill.epochs, kill.epochs - 1)
    if "tokens=30" in kill.words:
        assert words_of(message) == 30
    else:
        expected = {"left": name} if kill.result == {"left": "NAME"} else kill.result
        assert text_of(message) == "That was it."
        assert results(message) == [expected]
    assert len(crew.marks(name)) == kill.marks

    assert len(model.served(user=name)) == kill.calls, "no model call more than was lost"
    attempts = await database.attempts(row.id)
    assert tuple(attempt.state for attempt in attempts) == kill.states, "one for each call"
    assert [attempt.is_estimated for attempt in attempts] == [state == "interrupted" for state in kill.states]
    streamed = [attempt.output_tokens for attempt in attempts if attempt.state == "interrupted"]
    if kill.point == "before_commit":
        assert all(tokens > 0 for tokens in streamed), "what the log holds of it is counted"
    ledger = await database.row("select * from ledger where turn_id = :t", t=row.id)
    assert (ledger.attempts, ledger.is_estimated) == (len(kill.states), "interrupted" in kill.states)


@pytest.mark.timeout(300)
async def test_a_takeover_takes_seconds(crew: Crew, client: TurnClient, database: Database) -> None:
    """Killed without any point: whoever holds the turn, wherever it is."""
    took: list[float] = []
    for number in range(3):
        await crew.complete(database)
        watch = await speaking(client, f"takeover-{number} [[tokens=100 rate=20]]")
        victim = await crew.holder(database, turn_of(watch))
        victim.kill()
        killed = time.time()
        took.append(await until(database, turn_of(watch), "epoch > 1") - killed)
        assert words_of(await whole(client, watch)) == 100
    print(f"takeovers after SIGKILL: {', '.join(f'{seconds:.2f} s' for seconds in took)}")
    assert statistics.median(took) <= MEDIAN_TAKEOVER, took
    assert max(took) <= WORST_TAKEOVER, took


@pytest.mark.timeout(300)
async def test_a_runner_that_only_slept_starts_no_tool_and_changes_no_row(
    crew: Crew, client: TurnClient, database: Database, model: ScriptedModel
) -> None:
    """Stopped for 15 s in the middle of its text, a call to a tool with a side effect on its way to it."""
    name = f"zombie-{time.monotonic_ns()}"
    watch = await speaking(client, f"{name} [[tokens=60 rate=30 {MARK.replace('NAME', name)}]] [[text=Done.]]")
    zombie = await crew.holder(database, turn_of(watch))
    zombie.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        message = await whole(client, watch)
        assert results(message) == [{"left": name}]
        assert [mark["pid"] != zombie.pid for mark in crew.marks(name)] == [True]
        before = await database.row(ROWS, t=turn_of(watch))
        beaten = await heartbeat(database, crew, zombie)
        await asyncio.sleep(max(0.0, stopped + 15 - time.monotonic()))
    finally:
        zombie.send_signal(signal.SIGCONT)

    async def has_beaten() -> bool:
        return await heartbeat(database, crew, zombie) > beaten + timedelta(seconds=20)

    await awaited(has_beaten, 20, "several heartbeats of the zombie")
    await model.wait(ended=3, user=name)  # it has dropped the turn, and the model's call with it
    assert await database.row(ROWS, t=turn_of(watch)) == before
    assert len(crew.marks(name)) == 1
    late = await client.watch(watch.thread_id, watch.turn_id).to_end(20)
    assert late.shown == message, "what it may have written to the log meanwhile does not count"


async def heartbeat(database: Database, crew: Crew, runner: subprocess.Popen[bytes]) -> Any:
    (name,) = [name for name, known in crew.runners.items() if known is runner]
    return (await database.row("select alive_until from runners where name = :n", n=name)).alive_until


@pytest.mark.timeout(300)
async def test_a_runner_that_is_told_to_go_hands_over_at_a_commit_point(
    crew: Crew, client: TurnClient, database: Database, model: ScriptedModel
) -> None:
    name = f"handed-{time.monotonic_ns()}"
    watch = await speaking(client, f"{name} [[tokens=40 rate=20 {MARK.replace('NAME', name)}]] [[tokens=40 rate=20]]")
    leaving = await crew.holder(database, turn_of(watch))
    leaving.terminate()
    given_back, taken = await asyncio.gather(
        until(database, turn_of(watch), "status <> 'running' or epoch > 1"),
        until(database, turn_of(watch), "epoch > 1"),
    )
    print(f"handed over within {taken - given_back:.2f} s")
    assert taken - given_back <= HANDED_OVER
    assert await asyncio.to_thread(leaving.wait, 15) == 0
    message = await whole(client, watch)
    assert words_of(message) == 80
    assert results(message) == [{"left": name}]
    row = await database.turn(turn_of(watch))
    assert (row.status, row.epoch, row.recoveries) == ("finished", 2, 0)
    assert watch.message.superseded == 0, "nothing that was shown is taken back"
    assert len(crew.marks(name)) == 1
    assert len(model.served(user=name)) == 2, "no call is made twice"


@pytest.mark.timeout(300)
async def test_when_the_grace_is_over_what_is_left_is_handed_over_as_it_is(
    crew: Crew, client: TurnClient, database: Database, model: ScriptedModel
) -> None:
    name = f"cut-short-{time.monotonic_ns()}"
    watch = await speaking(client, f"{name} [[tokens=240 rate=20]]")
    leaving = await crew.holder(database, turn_of(watch))
    leaving.terminate()
    assert await asyncio.to_thread(leaving.wait, 15) == 0
    assert words_of(await whole(client, watch)) == 240
    row = await database.turn(turn_of(watch))
    assert (row.status, row.ended_by, row.epoch, row.recoveries) == ("finished", "reply", 2, 0)
    released, done = await database.attempts(row.id)
    assert (released.state, released.outcome, released.is_estimated) == ("interrupted", "released", True)
    assert released.output_tokens > 0
    assert (done.state, done.is_estimated) == ("done", False)
    assert len(model.served(user=name)) == 2
