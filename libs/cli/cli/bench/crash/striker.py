"""Carries out a plan: kills, arms points, puts runners to sleep, cuts connections; and notes what was hit when."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import Callable
from typing import Any

from chassis import faults
from cli.bench.crash.plan import PROCESSES, RUNNERS, SERVERS, SLEEP, Fault
from cli.bench.crash.proxy import Proxy
from cli.bench.crash.stage import Stage
from cli.bench.crash.world import Holding, Struck
from cli.up import control

_LOOK, _LOOK_FOR_SERVICES = 0.05, 0.5
_BACK_WITHIN = 40.0
"""Seconds for a server to be ready again, and for Postgres to say who held what."""

_REACHED_WITHIN = 8.0
"""Seconds that a point stays armed before it is tried again later."""

_HELD = """
    select t.id as turn, t.status, t.epoch, r.name as runner,
        not exists (select from runners n where n.name = r.name and n.started_at > r.started_at) as is_newest
    from turns t left join runners r on r.id = t.runner_id where t.status in ('queued', 'running')
"""


class Striker:
    def __init__(self, stage: Stage, proxy: Proxy, seed: int, say: Callable[[str], object]) -> None:
        self.struck: list[Struck] = []
        self.missed: list[Fault] = []
        """Points that nobody reached while they were armed."""
        self._stage = stage
        self._proxy = proxy
        self._chance = random.Random(f"striker-{seed}")  # noqa: S311 - a plan, not a secret
        self._say = say
        self._begun = time.monotonic()
        self._tasks: list[asyncio.Task[None]] = []
        self._names: dict[int, str] = {}
        self._one_at_a_time = {point: asyncio.Lock() for point in faults.POINTS}

    async def strike(self, plan: list[Fault]) -> None:
        """All of the plan, in time; what takes longer goes on beside it."""
        self._begun = time.monotonic()
        for fault in plan:
            await asyncio.sleep(max(0.0, self._begun + fault.at - time.monotonic()))
            self._tasks.append(asyncio.create_task(self._one(fault)))

    async def once_more(self) -> None:
        """Points that were not reached, one after the other."""
        missed, self.missed = self.missed, []
        for fault in missed:
            await self._point(fault)

    async def settled(self) -> None:
        """Returns when all that was begun is over: sleepers are awake, servers are back."""
        await asyncio.gather(*self._tasks)
        self._tasks.clear()

    async def _one(self, fault: Fault) -> None:
        match fault.kind:
            case "kill":
                await self._kill(fault.name)
            case "point":
                await self._point(fault)
            case "sleep":
                await self._sleep(fault.name)
            case "cut":
                count = self._proxy.cut(float(fault.name), self._chance)
                self._note(Struck(time.time(), "cut", "clients", pid=count))

    async def _kill(self, name: str) -> None:
        pid = await self._pid(name)
        before = await self._holdings() if name in SERVERS else None
        struck = Struck(time.time(), "kill", name, pid=pid)
        os.kill(pid, signal.SIGKILL)
        self._note(struck)
        await self._aftermath(struck, before)

    async def _point(self, fault: Fault) -> None:
        """Armed until somebody gets there; then it is known who that was."""
        async with self._one_at_a_time[fault.name]:
            strike = await self._taken(fault)
        if strike is None:
            self.missed.append(fault)
            return
        name = self._names.get(strike.pid, str(strike.pid)) if fault.victim == "self" else fault.victim
        struck = Struck(strike.at, "point", name, fault.name, strike.pid)
        self._note(struck)
        await self._aftermath(struck, None)

    async def _taken(self, fault: Fault) -> faults.Strike | None:
        victims = () if fault.victim == "self" else (await self._pid(fault.victim),)
        await self._pids()  # whoever takes it is gone when it is asked for its name
        begun = time.time()
        faults.arm(self._stage.faults, fault.name, victims)
        strike = await self._reached(fault.name, begun)
        if strike is None and not faults.disarm(self._stage.faults, fault.name):
            strike = await self._reached(fault.name, begun)  # taken in the last moment; or its taker was killed first
        return strike

    async def _reached(self, point: str, since: float) -> faults.Strike | None:
        until = time.monotonic() + _REACHED_WITHIN
        while time.monotonic() < until:
            found = [s for s in faults.strikes(self._stage.faults) if s.point == point and s.at >= since]
            if found:
                return found[-1]
            await asyncio.sleep(_LOOK)
        return None

    async def _sleep(self, name: str) -> None:
        pid = await self._pid(name)
        struck = Struck(time.time(), "sleep", name, pid=pid)
        os.kill(pid, signal.SIGSTOP)
        self._note(struck)
        struck.holdings = await self._holdings() or []
        await asyncio.sleep(max(0.0, struck.at + SLEEP - time.time()))
        with contextlib.suppress(ProcessLookupError):  # killed in its sleep: then it does not wake
            struck.back_at = time.time()
            os.kill(pid, signal.SIGCONT)

    async def _aftermath(self, struck: Struck, before: list[Holding] | None) -> None:
        if struck.name in SERVERS or struck.name in RUNNERS:
            struck.holdings = before if before is not None else await self._holdings() or []
        if struck.name in PROCESSES:
            struck.back_at = await self._back(struck)

    async def _holdings(self) -> list[Holding] | None:
        """Who held what just now; a database that is away is asked again."""
        until = time.monotonic() + _BACK_WITHIN
        while time.monotonic() < until:
            rows = await self._stage.rows(_HELD)
            if rows is not None:
                return [Holding(**row) for row in rows]
            await asyncio.sleep(_LOOK)
        return None

    async def _back(self, struck: Struck) -> float | None:
        """When the process was ready again; none if it was not, or hit again before that."""
        until = time.monotonic() + _BACK_WITHIN
        pause = _LOOK if struck.name in SERVERS else _LOOK_FOR_SERVICES
        while time.monotonic() < until and not self._was_hit_after(struck):
            for row in await self._ps():
                if row["name"] == struck.name and row["ready"] and row["started_at"] > struck.at:
                    return time.time()
            await asyncio.sleep(pause)
        return None

    def _was_hit_after(self, struck: Struck) -> bool:
        return any(other.name == struck.name and other.at > struck.at for other in self.struck)

    async def _pid(self, name: str) -> int:
        """The process by that name; one that is just being started again is waited for."""
        while True:
            pids = await self._pids()
            if name in pids:
                return pids[name]
            await asyncio.sleep(_LOOK)

    async def _pids(self) -> dict[str, int]:
        pids = {row["name"]: row["pid"] for row in await self._ps() if row["pid"]}
        self._names |= {pid: name for name, pid in pids.items()}
        return pids

    async def _ps(self) -> list[dict[str, Any]]:
        return await control.ask(self._stage.stack.data_dir, "ps")

    def _note(self, struck: Struck) -> None:
        self.struck.append(struck)
        count = f" ({struck.pid} connections)" if struck.kind == "cut" else ""
        self._say(f"{time.monotonic() - self._begun:6.1f} s  {struck}{count}")
