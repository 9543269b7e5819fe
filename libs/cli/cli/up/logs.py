"""The logs of the processes: bounded by rotation, shown and followed by `retinue logs`."""

import asyncio
import os
import shutil
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from cli.up.folder import DataFolder
from cli.up.refusal import Refused

CHECK_SECONDS = 5.0
FOLLOW_SECONDS = 0.2


async def rotate_for_ever(folder: Path, max_bytes: int, keep: int) -> None:
    """Look at all logs every few seconds and rotate those that are too long."""
    while True:
        await asyncio.sleep(CHECK_SECONDS)
        await asyncio.to_thread(rotate_long, folder, max_bytes, keep)


def rotate_long(folder: Path, max_bytes: int, keep: int) -> None:
    for path in folder.glob("*.log"):
        if path.stat().st_size > max_bytes:
            rotate(path, keep)


def rotate(path: Path, keep: int) -> None:
    """Copy the log aside and empty it.

    Emptied, not renamed: a process holds the file open for appending and would go on writing to the renamed one.
    """
    for number in range(keep, 1, -1):
        older = path.with_name(f"{path.name}.{number - 1}")
        if older.exists():
            older.replace(path.with_name(f"{path.name}.{number}"))
    if keep > 0:
        shutil.copy(path, path.with_name(f"{path.name}.1"))
    os.truncate(path, 0)


def show(folder: DataFolder, name: str | None, lines: int, go_on: bool) -> None:
    """Print the end of one log or of all, and new lines for ever if asked; Refused for a name without a log."""
    known = names(folder.logs)
    if name is not None and name not in known:
        raise Refused(f"There is no log of {name!r}; there are {', '.join(known) or 'none yet'}.")
    paths = [folder.log(known_name) for known_name in ([name] if name else known)]
    for path in paths:
        for line in tail(path, lines):
            _print(path.stem, line, name)
    if go_on:
        for source, line in follow(paths):
            _print(source, line, name)


def _print(source: str, line: str, name: str | None) -> None:
    print(line if name else f"{source:16} {line}", flush=True)


def names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.log"))


def tail(path: Path, lines: int) -> list[str]:
    with path.open(errors="replace") as file:
        return [line.rstrip("\n") for line in deque(file, maxlen=lines)]


def follow(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """New lines of these logs as (name, line), for ever; survives rotation."""
    positions = {path: path.stat().st_size for path in paths}
    while True:
        for path in paths:
            for line in _news(path, positions):
                yield path.stem, line
        time.sleep(FOLLOW_SECONDS)


def _news(path: Path, positions: dict[Path, int]) -> list[str]:
    size = path.stat().st_size
    if size < positions[path]:
        positions[path] = 0
    if size == positions[path]:
        return []
    with path.open("rb") as file:
        file.seek(positions[path])
        whole, _, _ = file.read().rpartition(b"\n")  # half a line waits for its other half
    if not whole:
        return []
    positions[path] += len(whole) + 1
    return whole.decode(errors="replace").split("\n")
