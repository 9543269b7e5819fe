"""Restarting small processes for real: the new one first, the old one's leave, and what goes wrong on the way."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from cli.up.child import Child, last_words
from cli.up.folder import DataFolder
from cli.up.lifeline import Lifeline
from cli.up.lock import FolderLock
from cli.up.program import Program
from cli.up.refusal import Refused
from cli.up.report import Report
from cli.up.restart import Restarts
from cli.up.settings import load_settings
from cli.up.verbs import Verbs

# Says that it is ready by a file of its own; asked to hand over, it ends when the file `go` is there.
SCRIPT = """
import os, pathlib, signal, sys, time
mine, go = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
def drain(*_):
    while not go.exists():
        time.sleep(0.02)
    mine.unlink()
    sys.exit(0)
signal.signal(signal.SIGUSR1, drain)
mine.write_text(str(os.getpid()))
time.sleep(60)
"""
BROKEN = "import sys; sys.stderr.write('the port is taken\\n'); sys.exit(78)"


class Stack:
    """The supervisor's own parts around one service and one server."""

    def __init__(self, root: Path) -> None:
        self.folder = DataFolder(root)
        self.folder.logs.mkdir()
        self.go = root / "go"
        self.stopping, self.hurry, self.said = asyncio.Event(), asyncio.Event(), list[str]()
        lock = FolderLock(self.folder.lock)
        lock.acquire()
        self.lifeline = Lifeline(root, lock.fileno(), self.folder.log("warden"))
        self.lifeline.open()
        settings = load_settings(data_dir=root, start_timeout_seconds=20, drain_grace=20)
        programs = [self.service("room-1"), replace(self.program("store", "store"), kind="server")]
        self.children = {p.name: Child(p, self.folder, self.lifeline, Report()) for p in programs}
        restarts = Restarts(self.children, settings, self.stopping, self.hurry)
        self.verbs = Verbs(self.folder, self.children, restarts, 20, asyncio.Event)

    def program(self, name: str, file: str) -> Program:
        mine = self.folder.root / file

        async def is_ready() -> bool:
            return mine.exists()

        argv = [sys.executable, "-c", SCRIPT, str(mine), str(self.go)]
        return Program(name=name, kind="service", argv=argv, is_ready=is_ready, ports=[1])

    def service(self, name: str) -> Program:
        return replace(self.program(name, f"{name}.a"), twin=self.program(name, f"{name}.b"))

    async def restart(self, *names: str) -> list[dict[str, object]]:
        return await self.verbs.answer({"verb": "restart", "names": list(names)}, self.said.append)

    async def ps(self) -> dict[str, dict[str, object]]:
        return {row["name"]: row for row in await self.verbs.ps()}

    async def see(self, *names: str) -> dict[str, dict[str, object]]:
        """The processes, as soon as these are their names."""
        deadline = time.monotonic() + 20
        while set(rows := await self.ps()) != set(names):
            assert time.monotonic() < deadline, rows
            await asyncio.sleep(0.02)
        return rows


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Stack]:
    built = Stack(tmp_path)
    for child in built.children.values():
        await child.start(20)
    yield built
    built.go.touch()
    for child in list(built.children.values()):
        await child.stop(5)
    await built.lifeline.close()


async def test_the_new_process_is_ready_before_the_old_one_leaves(stack: Stack) -> None:
    old = (await stack.ps())["room-1"]["pid"]
    restarting = asyncio.create_task(stack.restart())
    rows = await stack.see("room-1", "room-1.old", "store")
    assert (rows["room-1.old"]["pid"], rows["room-1.old"]["state"]) == (old, "draining")
    assert (rows["room-1"]["ready"], rows["room-1"]["restarts"]) == (True, 1)
    assert not restarting.done()
    stack.go.touch()
    (row,) = await restarting
    assert (row["name"], row["was"], row["pid"]) == ("room-1", old, rows["room-1"]["pid"])
    assert set(await stack.ps()) == {"room-1", "store"}
    assert stack.said == [f"room-1 was restarted ({row['seconds']} s)"]


async def test_a_second_restart_waits_for_nobody_and_says_so(stack: Stack) -> None:
    first = asyncio.create_task(stack.restart())
    await stack.see("room-1", "room-1.old", "store")
    with pytest.raises(Refused, match="A restart is under way, of room-1 at the moment"):
        await stack.restart("store")
    with pytest.raises(Refused, match="room-1 is just being stopped, started or held"):
        await stack.verbs.stop("room-1")
    stack.go.touch()
    await first
    assert [row["name"] for row in await stack.restart("store")] == ["store"]


async def test_restarts_may_follow_each_other(stack: Stack) -> None:
    stack.go.touch()
    for count in (1, 2, 3):
        await stack.restart("room-1")
        row = (await stack.ps())["room-1"]
        assert row["restarts"] == count
        assert (stack.folder.root / f"room-1.{'ab'[count % 2]}").read_text() == str(row["pid"]), "the ports take turns"


async def test_a_new_process_that_does_not_get_ready_leaves_the_old_one_alone(stack: Stack) -> None:
    child = stack.children["room-1"]
    broken = replace(stack.program("room-1", "never"), argv=[sys.executable, "-c", BROKEN])
    child.program = replace(child.program, twin=broken)
    before = (await stack.ps())["room-1"]
    with pytest.raises(Refused, match=r"room-1 was not restarted and its old process goes on: .*the port is taken"):
        await stack.restart("room-1", "store")
    assert await stack.ps() == {"room-1": before, "store": (await stack.ps())["store"]}
    assert (await stack.ps())["store"]["restarts"] == 0


async def test_a_server_is_stopped_and_started(stack: Stack) -> None:
    old = (await stack.ps())["store"]["pid"]
    (row,) = await stack.restart("store", "store")
    assert (row["was"], row["pid"] not in (None, old)) == (old, True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(str(old)), 0)
    assert (await stack.ps())["store"]["restarts"] == 1


async def test_a_service_that_was_stopped_is_started(stack: Stack) -> None:
    await stack.verbs.stop("room-1")
    (row,) = await stack.restart("room-1")
    assert row["was"] is None
    assert (await stack.ps())["room-1"]["ready"]


async def test_an_unknown_name_restarts_nothing(stack: Stack) -> None:
    with pytest.raises(Refused, match="no process 'nobody'; there are room-1, store"):
        await stack.restart("room-1", "nobody")
    assert (await stack.ps())["room-1"]["restarts"] == 0


async def test_the_end_of_the_stack_ends_a_restart(stack: Stack) -> None:
    restarting = asyncio.create_task(stack.restart("room-1", "store"))
    rows = await stack.see("room-1", "room-1.old", "store")
    stack.stopping.set()
    await asyncio.gather(*(child.stop(0.2) for child in list(stack.children.values())))
    with pytest.raises(Refused, match="room-1 was not restarted: Retinue is being stopped"):
        await restarting
    for name in ("room-1", "room-1.old", "store"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(str(rows[name]["pid"])), signal.SIGCONT)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], None),
        (["starting", "FATAL: the disk is full", ""], "FATAL: the disk is full"),
        (['{"event": "cannot start", "reason": "no port", "pid": 7}', '{"event": "stopped", "pid": 7}'], "no port"),
        (
            ['{"event": "cannot start", "reason": "no port", "pid": 7}', '{"event": "b", "reason": "c", "pid": 8}'],
            "no port",
        ),
        (['{"event": "x", "reason": "from another", "pid": 8}', "ImportError: no"], "ImportError: no"),
        (['{"event": "from another", "pid": 8}'], None),
        (['{"event": "cannot start", "pid": 7}', "[1]"], "[1]"),
    ],
)
def test_the_last_words_are_the_reason_of_that_process(lines: list[str], words: str | None) -> None:
    assert last_words(lines, 7) == words
