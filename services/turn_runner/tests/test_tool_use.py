"""Between `started` and the start of a tool lies one more look at the clock, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from contracts.pieces import Pieces
from store.turns import TurnLost
from turn_runner.execution import Result
from turn_runner.held import HandOver
from turn_runner.lease import Lease
from turn_runner.narration import AskedCall
from turn_runner.tool_use import ToolUse
from turn_runner.tools import TOOLS, Tool, ToolContext
from turn_runner.tools.tool import Input

ASLEEP = 15.0


class Rows:
    """A database that answers every heartbeat."""

    @asynccontextmanager
    async def system(self) -> AsyncIterator[Rows]:
        yield self

    async def execute(self, *_: Any) -> list[Any]:
        return []


@dataclass
class Held:
    """A held turn whose runner sleeps for as long as `sleeps` says right after each commit."""

    lease: Lease
    clock: list[float]
    sleeps: float = 0.0
    claim: Any = field(default_factory=lambda: SimpleNamespace(user_id=uuid4()))
    turn_id: UUID = field(default_factory=uuid4)
    hands_over: bool = False
    is_halted: bool = False
    is_lost: bool = False
    commits: int = 0
    open_calls: dict[UUID, str] = field(default_factory=dict)
    steps: int = 1

    @property
    def work(self) -> Any:
        return SimpleNamespace(
            lease=self.lease,
            settings=SimpleNamespace(tool_input_bytes=1000),
            outputs=SimpleNamespace(bounded=bounded),
            web=None,
        )

    @property
    def log(self) -> Any:
        return SimpleNamespace(write=nothing, settle=nothing)

    def commit_point(self) -> None:
        if self.hands_over:
            raise HandOver

    async def commit(self, _: Callable[[Any], Awaitable[Any]]) -> bool:
        self.commits += 1
        self.clock[0] += self.sleeps
        return True

    async def interruptible(self, work: Coroutine[Any, Any, Result]) -> Result:
        return await work


async def bounded(_: str, output: Any) -> Result:
    return Result(output)


async def nothing(*_: Any) -> None:
    pass


@pytest.fixture
def begun() -> Iterator[list[str]]:
    """What the tools began; `pay` has a side effect, `look` has none."""
    began: list[str] = []

    def tool(name: str, *, again: bool) -> Tool[Any]:
        async def run(_: Input, __: ToolContext) -> str:
            began.append(name)
            return "done"

        return Tool(name=name, title=name, summary=name, description=name, input=Input, run=run, is_idempotent=again)

    added = {"pay": tool("pay", again=False), "look": tool("look", again=True)}
    TOOLS.update(added)
    yield began
    for name in added:
        del TOOLS[name]


@pytest.fixture
async def held() -> Held:
    clock = [1000.0]
    lease = Lease(
        Rows(),  # type: ignore[arg-type]
        name="test", slots=1, every=1.5, lease=6.0, trust=4.0, clock=lambda: clock[0],
    )  # fmt: skip
    await lease.beat(SimpleNamespace(holders=list))
    return Held(lease, clock)


def starting(held: Held, *names: str) -> asyncio.Task[list[Result]]:
    calls = [AskedCall("provider", name, uuid4(), Pieces("{}")) for name in names]
    held.open_calls = {call.id: "asked" for call in calls}
    offer = [TOOLS[name] for name in names]
    return asyncio.create_task(ToolUse(held).run(calls, offer))  # type: ignore[arg-type]


async def settled() -> None:
    """Lets everything run that can run now."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_runner_that_slept_after_started_was_committed_starts_no_tool_that_it_has_lost(
    held: Held, begun: list[str]
) -> None:
    held.sleeps = ASLEEP
    running = starting(held, "pay")
    await settled()
    assert held.commits == 1, "(b) is committed"
    assert begun == [], "and nothing starts under a lease that is over"
    held.is_lost = True  # the next heartbeat says so
    await held.lease.beat(SimpleNamespace(holders=list))
    with pytest.raises(TurnLost):
        await running
    assert begun == []


async def test_a_runner_that_slept_and_still_has_the_turn_goes_on_after_a_heartbeat(
    held: Held, begun: list[str]
) -> None:
    held.sleeps = ASLEEP
    running = starting(held, "pay")
    await settled()
    assert begun == []
    held.sleeps = 0.0
    await held.lease.beat(SimpleNamespace(holders=list))
    assert await running == [Result("done")]
    assert begun == ["pay"]


async def test_a_harmless_tool_is_looked_at_no_less(held: Held, begun: list[str]) -> None:
    held.clock[0] += ASLEEP
    running = starting(held, "look")
    await settled()
    assert begun == []
    held.is_lost = True
    await held.lease.beat(SimpleNamespace(holders=list))
    with pytest.raises(TurnLost):
        await running
    assert begun == []


async def test_tools_that_have_not_begun_are_left_to_the_next_holder(held: Held, begun: list[str]) -> None:
    held.hands_over = True
    with pytest.raises(HandOver):
        await starting(held, "pay", "look")
    assert (begun, held.commits) == ([], 0)
    assert set(held.open_calls.values()) == {"asked"}
