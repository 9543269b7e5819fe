"""A crash run from beginning to end: stage, load and faults, quiet, evidence, verdict."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cli.bench.client import TurnClient
from cli.bench.crash import evidence
from cli.bench.crash.crowd import Crowd
from cli.bench.crash.plan import draw
from cli.bench.crash.proxy import Proxy
from cli.bench.crash.report import Report, judged, uncovered
from cli.bench.crash.stage import Stage, staged
from cli.bench.crash.striker import Striker
from cli.bench.crash.world import Wrong

_PEOPLE = 5
_QUIET_WITHIN = 45.0
_TIMES_EACH, _WHOLE_MINUTES = 2, 5.0
"""How often each process and point is hit in a run of five minutes or more."""


@dataclass(frozen=True)
class Wanted:
    minutes: float
    seed: int
    streams: int
    as_json: bool = False
    keep: Path | None = None


def run(wanted: Wanted) -> Report:
    """Runs, prints and returns what came of it."""
    with staged(wanted.keep) as stage:
        report = asyncio.run(_run(stage, wanted))
        if not report.has_passed:
            stage.is_kept = True
            evidence.kept(stage, report.world)
    if wanted.as_json:
        print(json.dumps(report.as_json()))
    else:
        print("\n".join(report.lines()))
    return report


async def _run(stage: Stage, wanted: Wanted) -> Report:
    async with AsyncExitStack() as undo:
        address = urlsplit(stage.stack.url)
        proxy = await undo.enter_async_context(Proxy.opened(address.hostname or "", address.port or 0))
        clients: list[TurnClient] = []
        for number in range(min(_PEOPLE, wanted.streams)):
            token = await asyncio.to_thread(stage.register, f"crash-{number}")
            clients.append(await undo.enter_async_context(TurnClient(proxy.url, token)))
        crowd = Crowd(clients, wanted.seed, wanted.streams)
        striker = Striker(stage, proxy, wanted.seed, _say)
        await _under_load(crowd, striker, wanted)
        is_quiet = await evidence.quiet(stage, _QUIET_WITHIN)
        world = await evidence.gathered(stage, crowd, striker.struck)
    wrong = judged(world)
    if not is_quiet:
        wrong.append(Wrong("stuck", f"the stack was not quiet {_QUIET_WITHIN:g} s after the last message"))
    wrong += [Wrong("lost", trouble) for trouble in crowd.troubles]
    if wanted.minutes >= _WHOLE_MINUTES:
        wrong += uncovered(world, _TIMES_EACH)
    return Report(wanted.seed, wanted.minutes, world, wrong, stage.logs)


async def _under_load(crowd: Crowd, striker: Striker, wanted: Wanted) -> None:
    load = asyncio.create_task(crowd.run())
    seconds = wanted.minutes * 60
    faults = asyncio.create_task(_faults(striker, wanted, seconds))
    await asyncio.wait({load, faults}, return_when=asyncio.FIRST_COMPLETED)
    crowd.over.set()
    await faults
    await load


async def _faults(striker: Striker, wanted: Wanted, seconds: float) -> None:
    begun = asyncio.get_running_loop().time()
    await striker.strike(draw(wanted.seed, seconds))
    await asyncio.sleep(max(0.0, begun + seconds - asyncio.get_running_loop().time()))
    await striker.settled()
    await striker.once_more()


def _say(line: str) -> None:
    """As it happens, beside the report."""
    print(line, file=sys.stderr, flush=True)
