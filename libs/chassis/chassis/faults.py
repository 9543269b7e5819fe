"""Named points in the life of a turn at which a crash test may kill. Off, and free, unless RETINUE_FAULTS is set.

    faults.reached("claimed")        in the service, where a kill would be most awkward
    faults.arm(folder, "claimed")    in the test: whoever gets there first takes the file, says so in it, and kills

An armed point is a file of that name. It is taken by renaming it to `<point>.<pid>`, so that only one process takes
it and only once; what it says is whom to kill: `self`, or process ids.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

POINTS = (
    "accepted",  # the door has committed, nothing is answered
    "claimed",  # the claim has committed, the wake-up is not acknowledged
    "before_first_chunk",  # the model is about to be called
    "mid_text",  # a piece of text was written
    "before_tool",  # a tool may start; one that is not idempotent is `started`
    "during_tool",  # a tool has taken effect and is not back yet
    "after_tool",  # its result is known and not committed
    "before_commit",  # the last chunk of a model call is published, its commit not made
    "before_end_batch",  # the end is committed, its batch not published
)

_folder: Path | None = None


def use(armed: Path | None) -> None:
    """Points are looked for in this folder from now on; None: nowhere."""
    global _folder
    _folder = armed


def folder() -> Path | None:
    """Where points are armed; none unless this process is under a crash test."""
    return _folder


def reached(point: str) -> None:
    """Kills as the armed file says, if the point is armed."""
    if _folder is not None:
        _strike(_folder, point)


@dataclass(frozen=True)
class Strike:
    """A point that was taken: by whom, and when (seconds of the epoch)."""

    point: str
    pid: int
    at: float


def arm(folder: Path, point: str, victims: Sequence[int] = ()) -> None:
    """Arm a point once; without victims whoever takes it kills itself."""
    if point not in POINTS:
        raise ValueError(f"there is no point {point!r}; there are {', '.join(POINTS)}")
    draft = folder / f".{point}"
    draft.write_text(" ".join(map(str, victims)) or "self")
    draft.rename(folder / point)  # whole at once: a half-written file would kill the wrong


def disarm(folder: Path, point: str) -> bool:
    """Whether the point was still armed."""
    try:
        (folder / point).unlink()
    except FileNotFoundError:
        return False
    return True


def strikes(folder: Path) -> list[Strike]:
    """What has been taken so far, in the order of time."""
    found: list[Strike] = []
    for path in folder.glob("*.*"):
        point, _, pid = path.name.partition(".")
        at = path.read_text().partition("\n")[2]
        if point in POINTS and at:
            found.append(Strike(point, int(pid), float(at)))
    return sorted(found, key=lambda strike: strike.at)


def _strike(folder: Path, point: str) -> None:
    mine = folder / f"{point}.{os.getpid()}"
    try:
        (folder / point).rename(mine)
    except FileNotFoundError:
        return
    victims = mine.read_text().split()
    mine.write_text(f"{' '.join(victims)}\n{time.time()}")
    for victim in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(os.getpid() if victim == "self" else int(victim), signal.SIGKILL)
