"""Ending processes that nobody waits for any more: in order, politely, then for good."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

# Every process of a stack carries this variable, with the data folder as its value.
MARK = "RETINUE_STACK"
SERVICE_SECONDS = 1.5
SERVER_SECONDS = 4.0


@dataclass(frozen=True)
class Mortal:
    """A process to be ended; psutil remembers its start time, so a reused process id is never hit."""

    process: psutil.Process
    kind: str
    stop_signal: int


def end_in_order(mortals: list[Mortal]) -> None:
    """Services first, so that servers lose no answer, then servers."""
    _end([mortal for mortal in mortals if mortal.kind == "service"], SERVICE_SECONDS)
    _end([mortal for mortal in mortals if mortal.kind != "service"], SERVER_SECONDS)


def sweep(root: Path) -> list[int]:
    """Kill whatever still carries the mark of the stack on this data folder; returns the process ids.

    Catches a child that was started in the instant in which the supervisor died, and children of children.
    """
    strays = [process for process in psutil.process_iter() if process.pid != os.getpid() and _is_of(process, root)]
    for process in strays:
        _send(process, signal.SIGKILL)
    _wait(strays, SERVER_SECONDS)
    return [process.pid for process in strays]


def is_alive(process: psutil.Process) -> bool:
    """Whether it runs; a zombie does not, and where no init reaps it it stays one for ever."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _end(mortals: list[Mortal], seconds: float) -> None:
    for mortal in mortals:
        _send(mortal.process, mortal.stop_signal)
    for process in _wait([mortal.process for mortal in mortals], seconds):
        _send(process, signal.SIGKILL)
    _wait([mortal.process for mortal in mortals], seconds)


def _wait(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """The processes that still run after this many seconds."""
    deadline = time.monotonic() + seconds
    living = [process for process in processes if is_alive(process)]
    while living and time.monotonic() < deadline:
        time.sleep(0.02)
        living = [process for process in living if is_alive(process)]
    return living


def _send(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return


def _is_of(process: psutil.Process, root: Path) -> bool:
    try:
        return process.environ().get(MARK) == str(root)
    except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
        return False
