"""The real Postgres for machines that go step by step: one event loop, and people who go away with all they had."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar
from uuid import UUID

import asyncpg
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from store.system import sweep
from store.system.sweep import Swept
from store.turns import Limits
from tests.kit.stack import Servers
from tests.kit.turns import Database

T = TypeVar("T")

BUDGET = 5
"""How often a turn is brought back."""


class Shore:
    """Hypothesis' rules are no coroutines: `run` takes one to its end."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self._loop = asyncio.new_event_loop()
        self._open = AsyncExitStack()
        self.run(_hasten(servers))
        self.database = self.run(self._open.enter_async_context(Database.opened(servers)))

    def run(self, act: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(act)

    def together(self, *acts: Coroutine[Any, Any, Any]) -> list[Any]:
        """At the same time; what one raises is its result."""

        async def gathered() -> list[Any]:
            return await asyncio.gather(*acts, return_exceptions=True)

        return self.run(gathered())

    def rows(self, statement: str, **parameters: Any) -> list[Any]:
        return self.run(self.database.rows(statement, **parameters))

    def forget(self) -> None:
        self.run(self.database.forget())

    def close(self) -> None:
        self.run(self._open.aclose())
        self._loop.close()

    # The sweep of a runner, act by act

    def recover_dead(self, limits: Limits) -> Swept:
        return self._sweep(lambda session: sweep.recover_dead(session, limits, budget=BUDGET))

    def recover_orphans(self, runner_id: UUID, held: list[UUID], limits: Limits) -> Swept:
        return self._sweep(
            lambda session: sweep.recover_orphans(session, runner_id, lambda: held, limits, budget=BUDGET)
        )

    def stop_queued(self, limits: Limits) -> Swept:
        return self._sweep(lambda session: sweep.stop_queued(session, limits))

    def promote_all(self, limits: Limits) -> int:
        """As often as it takes; how many turns were promoted."""
        promoted = 0
        while True:
            users = self._sweep(lambda session: sweep.waiting_users(session, limits))
            passes = [self._sweep(lambda s, user=user: sweep.promote_user(s, user, limits)) for user in users]
            found = sum(swept.promoted for swept in passes)
            promoted += found
            if not found:
                return promoted

    def _sweep(self, act: Any) -> Any:
        async def swept() -> Any:
            async with self.database.runner.system() as session:
                return await act(session)

        return self.run(swept())


async def _hasten(servers: Servers) -> None:
    """Nobody pulls the plug here, and every step of a machine is some commits: they need not wait for the disk."""
    connection: Any = await asyncpg.connect(servers.superuser_url)
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        await connection.execute(f"alter system set {setting} = off")
    await connection.execute("select pg_reload_conf()")
    await connection.close()


def explore(machine: type[RuleBasedStateMachine], shore: Shore, *, examples: int, steps: int) -> None:
    """Runs a machine on this shore; the profile `long` multiplies the examples.

    A counterexample is shown as it was found: to make it smaller takes minutes, each step of it some transactions.
    """
    factor = max(1, settings.default.max_examples // 100)  # type: ignore[union-attr]
    bounds = settings(
        max_examples=examples * factor,
        stateful_step_count=steps,
        deadline=None,
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    here = type(machine.__name__, (machine,), {"shore": shore})
    run_state_machine_as_test(here, settings=bounds)
