"""What the supervisor does when the command line asks; a new verb is one more method here."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from cli.up.child import Child
from cli.up.folder import DataFolder
from cli.up.refusal import Refused
from cli.up.restart import Restarts, Tell

GRACE_SECONDS = 10.0
LONGEST_HOLD_SECONDS = 3600.0


class Verbs:
    """The verbs of `cli.up.control`, by name."""

    def __init__(
        self,
        folder: DataFolder,
        children: dict[str, Child],
        restarts: Restarts,
        start_timeout: float,
        end: Callable[[], asyncio.Event],
    ) -> None:
        self.url: str | None = None
        self.warning: str | None = None
        self._folder = folder
        self._children = children
        self._restarts = restarts
        self._restarting: str | None = None
        self._start_timeout = start_timeout
        self._end = end
        self._begun = time.time()
        self._busy: set[str] = set()

    async def answer(self, request: dict[str, Any], tell: Tell) -> Any:
        """The result of one verb; what takes long tells how far it is."""
        verbs = {
            "ps": self.ps,
            "status": self.status,
            "stop": self.stop,
            "start": self.start,
            "hold": self.hold,
            "restart": partial(self.restart, tell=tell),
            "down": self.down,
        }
        verb = verbs.get(request.pop("verb", ""))
        if verb is None:
            raise Refused("The running supervisor does not know this verb: restart it with `retinue down` and `up`.")
        return await verb(**request)

    async def ps(self) -> list[dict[str, Any]]:
        return await asyncio.gather(*(child.snapshot() for child in self._children.values()))

    async def status(self) -> dict[str, Any]:
        """`since` in seconds of the epoch, `uptime_seconds` in seconds; `url` is null until everything is ready."""
        return {
            "url": self.url,
            "warning": self.warning,
            "data_dir": str(self._folder.root),
            "since": self._begun,
            "uptime_seconds": round(time.time() - self._begun, 1),
            "free_mb": self._folder.free_bytes() >> 20,
            "processes": await self.ps(),
        }

    async def stop(self, name: str) -> None:
        child = self._child(name)
        with _Turn(self._busy, name):
            await child.stop(GRACE_SECONDS)

    async def start(self, name: str) -> None:
        child = self._child(name)
        if child.state != "stopped":
            return
        with _Turn(self._busy, name):
            await child.start(self._start_timeout)

    async def hold(self, name: str, seconds: float) -> None:
        """Stop, rest, start; the caller hears of it when the process is ready again."""
        if not 0 <= seconds <= LONGEST_HOLD_SECONDS:
            raise Refused(f"A process can be held for 0 to {LONGEST_HOLD_SECONDS:.0f} seconds.")
        child = self._child(name)
        with _Turn(self._busy, name):
            await child.stop(GRACE_SECONDS)
            await asyncio.sleep(seconds)
            await child.start(self._start_timeout)

    async def restart(self, names: list[str], tell: Tell) -> list[dict[str, Any]]:
        """These processes, or all services, one after the other; the first that cannot be restarted ends it."""
        if self._restarting is not None:
            raise Refused(
                f"A restart is under way, of {self._restarting} at the moment: see `retinue ps`, and ask again when "
                "it has ended."
            )
        for name in names:
            self._child(name)
        chosen = list(dict.fromkeys(names)) or self._restarts.services()
        if not chosen:
            raise Refused("This stack has no services: name the servers that shall be restarted.")
        done: list[dict[str, Any]] = []
        try:
            for self._restarting in chosen:
                with _Turn(self._busy, self._restarting):
                    done.append(await self._restarts.restart(self._restarting))
                tell(f"{self._restarting} was restarted ({done[-1]['seconds']} s)")
        finally:
            self._restarting = None
        return done

    async def down(self) -> None:
        await self._end().wait()

    def _child(self, name: str) -> Child:
        if name not in self._children:
            raise Refused(f"There is no process {name!r}; there are {', '.join(self._children) or 'none yet'}.")
        return self._children[name]


class _Turn:
    """One verb at a time works on a process."""

    def __init__(self, busy: set[str], name: str) -> None:
        self._busy = busy
        self._name = name

    def __enter__(self) -> None:
        if self._name in self._busy:
            raise Refused(f"{self._name} is just being stopped, started or held by another command.")
        self._busy.add(self._name)

    def __exit__(self, *_: object) -> None:
        self._busy.discard(self._name)
