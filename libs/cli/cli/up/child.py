"""One supervised process: started, watched, started again when it dies, ended when asked."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import time
from typing import Any, cast

from cli.up.ending import MARK
from cli.up.folder import DataFolder
from cli.up.lifeline import Lifeline
from cli.up.logs import tail
from cli.up.program import Program
from cli.up.refusal import Refused
from cli.up.report import Report

FIRST_DELAY = 0.1
LONGEST_DELAY = 10.0
# A process that lived this long is not in a crash loop.
SOUND_SECONDS = 10.0
# Lines of its log in which the reason of an end is looked for.
WORDS = 50
# Deaths before it was ever ready, after which the first start is given up.
FIRST_START_TRIES = 3
# Services end their grace by themselves; only what is stuck is killed.
STUCK_SECONDS = 1.5
# Asks a service to hand over to its successor; see chassis.service.
DRAIN_SIGNAL = signal.SIGUSR1
# Wrong settings do not get better by trying again.
MISCONFIGURED = f"exit code {os.EX_CONFIG}"


class Child:
    """The life of one row of the table."""

    def __init__(
        self, program: Program, folder: DataFolder, lifeline: Lifeline, report: Report, name: str | None = None
    ) -> None:
        self.program = program
        self.name = name or program.name
        self.restarts = 0
        self.started_at: float | None = None
        self.state = "stopped"
        self._folder = folder
        self._lifeline = lifeline
        self._report = report
        self._process: asyncio.subprocess.Process | None = None
        self._ready = asyncio.Event()
        self._ending = asyncio.Event()
        self._life: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self, timeout: float) -> None:
        """Start it and wait until it is ready; Refused with the reason if it is not within `timeout` seconds."""
        self._ending.clear()
        self._ready.clear()
        self._life = asyncio.create_task(self._live(), name=f"child {self.name}")
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait({ready, self._life}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._life.done() and (error := self._life.exception()):
            raise error
        if not self._ready.is_set():
            raise Refused(f"{self.program.name} was not ready within {timeout:.0f} s{self._last_words()}.")

    def successor(self, name: str) -> "Child":
        """One that may run beside this one until this one has left."""
        child = Child(self.program.beside(), self._folder, self._lifeline, self._report, name)
        child.restarts = self.restarts + 1
        return child

    async def stop(self, grace: float, hurry: asyncio.Event | None = None) -> None:
        """End it: ask, wait for `grace` seconds or until `hurry`, then kill. It is not started again."""
        await self._end(self.program.stop_signal, grace, hurry)

    async def leave(self, grace: float, hurry: asyncio.Event | None = None) -> None:
        """The same for one whose successor runs: it is asked to hand over."""
        self.state = "draining"
        await self._end(DRAIN_SIGNAL, grace, hurry)

    async def _end(self, sign: signal.Signals, grace: float, hurry: asyncio.Event | None) -> None:
        self._ending.set()
        process = self._process
        if process is not None and process.returncode is None:
            self._signal(sign)
            gone = asyncio.create_task(process.wait())
            hurried = asyncio.create_task((hurry or asyncio.Event()).wait())
            await asyncio.wait({gone, hurried}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            hurried.cancel()
            if process.returncode is None:
                self._kill()
            await gone
        if self._life is not None:
            await asyncio.wait({self._life})
        self.state = "stopped"

    async def is_ready(self) -> bool:
        """Asked anew each time, so that it is the truth of this moment."""
        if self.pid is None:
            return False
        try:
            return await asyncio.wait_for(self.program.is_ready(), 3)
        except (OSError, EOFError, TimeoutError):
            return False

    async def snapshot(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.program.kind,
            "pid": self.pid,
            "ports": self.program.ports,
            "ready": await self.is_ready(),
            "state": self.state,
            "restarts": self.restarts,
            "started_at": self.started_at,
        }

    async def _live(self) -> None:
        delay, was_ready = FIRST_DELAY, False
        for life in itertools.count(1):
            born = time.monotonic()
            end = await self._one_life()
            was_ready = was_ready or self._ready.is_set()
            if self._ending.is_set():
                return
            if not was_ready and (life >= FIRST_START_TRIES or end == MISCONFIGURED):
                raise Refused(f"{self.program.name} does not start ({end}){self._last_words()}.")
            self.restarts += 1
            self.state = "waiting"
            delay = FIRST_DELAY if time.monotonic() - born > SOUND_SECONDS else min(delay * 2, LONGEST_DELAY)
            self._report.progress(f"{self.name} ended ({end}) and is started again")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), delay)
            if self._ending.is_set():
                return

    async def _one_life(self) -> str:
        """From the start to the end of one process; how it ended."""
        try:
            self._process = process = await self._spawn()
        except OSError as error:  # no memory, no descriptors, no disk: perhaps later
            return f"it could not be started: {error.strerror}"
        self._lifeline.born(process.pid, self.program)
        self.state, self.started_at = "starting", time.time()
        waiting = asyncio.create_task(self._await_readiness())
        if self._ending.is_set():  # the wish to stop came while it was being started
            self._signal(self.program.stop_signal)
        code = await process.wait()
        waiting.cancel()
        self._lifeline.gone(process.pid)
        return _how(code)

    async def _spawn(self) -> asyncio.subprocess.Process:
        program = self.program
        with self._folder.log(program.name).open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *program.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=(program.env or dict(os.environ)) | {MARK: str(self._folder.root)},
                cwd="/",
                start_new_session=True,  # Ctrl-C reaches the supervisor only, which keeps the order of ending
                pass_fds=program.inherited,
                **(program.account.spawn_options() if program.account else {}),
            )

    async def _await_readiness(self) -> None:
        pause = 0.03
        while not await self.is_ready():
            await asyncio.sleep(pause)
            pause = min(pause * 1.3, 0.25)
        self.state = "ready"
        self._ready.set()

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    def _kill(self) -> None:
        """Kill the process and what it started in its session."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _last_words(self) -> str:
        """What it said last (a reason, if it gave one), and where the rest is."""
        path = self._folder.log(self.program.name)
        words = last_words(tail(path, WORDS), self._process.pid if self._process else None) if path.exists() else None
        return f": {words} (more in {path})" if words else f" (see {path})"


def _how(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"


def last_words(lines: list[str], pid: int | None) -> str | None:
    """The last reason that this process gave in these lines of a log, else the last line.

    Services write JSON, servers text; the process that is replaced writes to the same log.
    """
    entries = [_entry(line) for line in lines if line.strip()]
    own = [entry for entry in entries if entry.get("pid") in (None, pid)]
    said = next((entry for entry in reversed(own) if entry.get("reason")), own[-1] if own else None)
    return str(said.get("reason") or said.get("event"))[:500] if said else None


def _entry(line: str) -> dict[str, Any]:
    try:
        entry: Any = json.loads(line)
    except ValueError:
        entry = None
    return cast("dict[str, Any]", entry) if isinstance(entry, dict) else {"event": line.strip()}
