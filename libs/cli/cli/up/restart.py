"""`retinue restart`: a service gets its successor before it leaves, so that people see a reconnect at most.

While it lasts the process that comes is listed as `NAME.new`, the one that leaves as `NAME.old`. A server cannot run
beside itself, because it owns its data and its port: it is stopped and started, and services wait for it.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from cli.up.child import STUCK_SECONDS, Child
from cli.up.refusal import Refused
from cli.up.settings import UpSettings

SERVER_GRACE_SECONDS = 20.0

Tell = Callable[[str], None]


class Restarts:
    """Restarts processes one after the other, one restart at a time."""

    def __init__(
        self, children: dict[str, Child], settings: UpSettings, stopping: asyncio.Event, hurry: asyncio.Event
    ) -> None:
        self._children = children
        self._settings = settings
        self._stopping = stopping
        self._hurry = hurry

    def services(self) -> list[str]:
        return [name for name, child in self._children.items() if child.program.kind == "service"]

    async def restart(self, name: str) -> dict[str, Any]:
        """Restart this process; Refused, with the old one still there, if the new one does not get ready."""
        begun, old = time.monotonic(), self._children[name]
        before = old.pid
        self._refuse_while_stopping(name)
        if old.program.twin is None or before is None:
            await self._again(old)
        else:
            await self._replace(name, old)
        new = self._children[name]
        return {"name": name, "was": before, "pid": new.pid, "seconds": round(time.monotonic() - begun, 1)}

    async def _again(self, child: Child) -> None:
        """Stop, then start: for servers, and for services of which no process runs."""
        await child.stop(SERVER_GRACE_SECONDS, self._hurry)
        self._refuse_while_stopping(child.name)
        await child.start(self._settings.start_timeout_seconds)
        child.restarts += 1

    async def _replace(self, name: str, old: Child) -> None:
        new = old.successor(f"{name}.new")
        self._children[new.name] = new
        try:
            await new.start(self._settings.start_timeout_seconds)
        except Refused as error:
            await new.stop(0)
            self._refuse_while_stopping(name)
            raise Refused(f"{name} was not restarted and its old process goes on: {error}") from None
        finally:
            del self._children[f"{name}.new"]
        new.name, old.name = name, f"{name}.old"
        self._children[name], self._children[old.name] = new, old
        try:
            await old.leave(self._settings.drain_grace + STUCK_SECONDS, self._hurry)
        finally:
            del self._children[old.name]
        self._refuse_while_stopping(name)

    def _refuse_while_stopping(self, name: str) -> None:
        if self._stopping.is_set():
            raise Refused(f"{name} was not restarted: Retinue is being stopped.")
