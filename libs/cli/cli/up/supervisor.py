"""Starts the stack in order, keeps it alive, and ends it in order."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from typing import Any

from cli.up import keys, logs, model_check, services
from cli.up.account import Account
from cli.up.child import STUCK_SECONDS, Child
from cli.up.control import ControlDoor
from cli.up.ending import MARK, sweep
from cli.up.folder import DataFolder, stamp_layout
from cli.up.freshness import is_fresh, note_fresh
from cli.up.lifeline import Lifeline
from cli.up.lock import FolderLock
from cli.up.orders import Orders, orders_for
from cli.up.private_files import write_private_json
from cli.up.program import Ground, Program
from cli.up.refusal import Refused
from cli.up.report import Report
from cli.up.restart import SERVER_GRACE_SECONDS, Restarts
from cli.up.services import Service
from cli.up.settings import UpSettings
from cli.up.stack import Stack, assemble
from cli.up.verbs import Verbs


class Supervisor:
    """One run of the stack on one data folder; an empty table of services means servers only."""

    def __init__(
        self,
        folder: DataFolder,
        settings: UpSettings,
        account: Account | None,
        report: Report,
        table: tuple[Service, ...] = services.SERVICES,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._account = account
        self._report = report
        self._table = table
        self._children: dict[str, Child] = {}
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._ended = asyncio.Event()
        restarts = Restarts(self._children, settings, self._stopping, self._hurry)
        self._verbs = Verbs(folder, self._children, restarts, settings.start_timeout_seconds, self.stop)

    async def run(self) -> None:
        """From the lock of the folder to the end of the last process; Refused if the stack cannot be started."""
        async with AsyncExitStack() as undo:
            lock = FolderLock(self._folder.lock)
            lock.acquire()
            undo.callback(lock.release)
            self._listen_to_signals()
            stamp_layout(self._folder)
            self._end_leftovers()
            keys.prepare(self._folder, self._settings)
            stack = assemble(self._folder, self._settings, self._account, self._table)
            lifeline = Lifeline(self._folder.root, lock.fileno(), self._folder.log("warden"))
            lifeline.open()
            undo.push_async_callback(lifeline.close)
            await self._open_door(undo)
            self._rotate_logs(undo)
            undo.push_async_callback(self._stop)
            self._add_children([*stack.servers, *stack.services], lifeline)
            checking = asyncio.create_task(model_check.warning())
            if await self._unless_stopped(self._start(stack.ground)):
                await self._say_ready(stack, await checking)
                await self._stopping.wait()

    def stop(self) -> asyncio.Event:
        """Asked once: end in order, with grace. Asked again: at once. The event is set when all have ended."""
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()
        return self._ended

    # Starting

    async def _say_ready(self, stack: Stack, warning: str | None) -> None:
        if not self._table:
            self._report.ready("servers only")
            return
        self._verbs.url, self._verbs.warning = stack.shown_url, warning
        if stack.shown_url != stack.url:
            self._report.progress(f"listening on {stack.url}")
        self._report.ready(stack.shown_url, warning)

    def _add_children(self, programs: list[Program], lifeline: Lifeline) -> None:
        for program in programs:
            self._children[program.name] = Child(program, self._folder, lifeline, self._report)

    async def _start(self, ground: Ground) -> None:
        for moved in ground.ports.moved:
            self._report.progress(moved)
        await self._start_all("server")
        orders = orders_for(ground)
        if orders.setup_code_url is not None or not await is_fresh(ground, orders):
            await self._migrate(ground, orders)
        await self._start_all("service")

    async def _start_all(self, kind: str) -> None:
        async with asyncio.TaskGroup() as group:
            for child in self._of(kind):
                group.create_task(self._start_one(child))

    async def _start_one(self, child: Child) -> None:
        begun = time.monotonic()
        await child.program.prepare()
        await child.start(self._settings.start_timeout_seconds)
        self._report.progress(f"{child.program.name} is ready ({time.monotonic() - begun:.1f} s)")

    async def _migrate(self, ground: Ground, orders: Orders) -> None:
        """In a process of its own, so that the supervisor stays small."""
        begun = time.monotonic()
        with self._folder.log("migrate").open("ab") as log:
            migration = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "cli.up.migration"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=os.environ | {MARK: str(self._folder.root)},
                cwd="/",
                start_new_session=True,
            )
        try:
            setup_code, _ = await migration.communicate(orders.to_json())
        finally:
            if migration.returncode is None:
                migration.kill()
                await migration.wait()
        if migration.returncode != 0:
            raise Refused(f"The migration failed: the reason is in {self._folder.log('migrate')}.")
        await note_fresh(ground, orders)
        self._report.progress(f"tables and streams are up to date ({time.monotonic() - begun:.1f} s)")
        if setup_code:
            self._report.confide(f"Set-up code for the first account, to be used once: {setup_code.decode().strip()}")

    async def _unless_stopped(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do the work; False if the wish to stop came first."""
        task = asyncio.create_task(work)
        stopped = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
            return False
        try:
            task.result()
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        return True

    # Ending

    async def _stop(self) -> None:
        await self._stop_all("service", self._settings.grace_seconds + STUCK_SECONDS)
        await self._stop_all("server", SERVER_GRACE_SECONDS)
        self._ended.set()
        self._report.progress("Retinue has stopped")

    async def _stop_all(self, kind: str, grace: float) -> None:
        if any(child.pid for child in self._of(kind)):
            self._report.progress(f"stopping {kind}s")
        await asyncio.gather(*(child.stop(grace, self._hurry) for child in self._of(kind)))

    def _end_leftovers(self) -> None:
        """A state file without a supervisor: the last run was killed, and perhaps its warden with it."""
        if not self._folder.state.exists():
            return
        for pid in sweep(self._folder.root):
            self._report.progress(f"ended process {pid}, left over from a run that was killed")

    # Being asked

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop)

    async def _open_door(self, undo: AsyncExitStack) -> None:
        door = ControlDoor(self._folder, self._verbs.answer)
        await door.open()
        undo.callback(door.close)
        write_private_json(self._folder.state, {"pid": os.getpid(), "socket": str(door.path)})
        undo.callback(self._folder.state.unlink, missing_ok=True)

    def _rotate_logs(self, undo: AsyncExitStack) -> None:
        size, keep = self._settings.log_max_mb << 20, self._settings.log_keep
        undo.callback(asyncio.create_task(logs.rotate_for_ever(self._folder.logs, size, keep)).cancel)

    def _of(self, kind: str) -> list[Child]:
        return [child for child in self._children.values() if child.program.kind == kind]
