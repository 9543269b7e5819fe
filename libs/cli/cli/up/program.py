"""What the supervisor must know of one process: how it is started, when it is ready, how it is asked to end."""

import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from cli.up.account import Account
from cli.up.folder import DataFolder
from cli.up.ports import Ports
from cli.up.settings import UpSettings

Kind = Literal["server", "service"]


async def nothing_to_prepare() -> None:
    """Most programs need nothing before their first start."""


@dataclass(frozen=True)
class Program:
    """One row of the stack."""

    name: str
    kind: Kind
    argv: list[str]
    is_ready: Callable[[], Awaitable[bool]]
    ports: list[int]
    env: dict[str, str] = field(default_factory=dict[str, str])
    prepare: Callable[[], Awaitable[None]] = nothing_to_prepare
    stop_signal: signal.Signals = signal.SIGTERM
    account: Account | None = None
    inherited: tuple[int, ...] = ()
    twin: "Program | None" = None
    """The same on ports of its own, to be started beside it; none where there can be only one."""

    def beside(self) -> "Program":
        """The twin, whose own twin is this one: the two take turns."""
        if self.twin is None:
            raise ValueError(f"{self.name} has no twin")
        return replace(self.twin, twin=replace(self, twin=None))


@dataclass(frozen=True)
class Ground:
    """What programs are built on: the folder, the ports and the secrets of this stack."""

    folder: DataFolder
    ports: Ports
    secrets: dict[str, str]
    settings: UpSettings
    account: Account | None
    web_dist: Path | None = None
