"""One stack per data folder: a lock that the kernel releases when its last holder is gone."""

import fcntl
import os
import time
from pathlib import Path

import psutil

from cli.up.refusal import Refused

# How long a start waits for the warden of a supervisor that was killed to end the old processes.
PATIENCE_SECONDS = 20.0


class FolderLock:
    """Held by the supervisor and by its warden, so that it stays taken until the children are gone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def fileno(self) -> int:
        return self._file

    def acquire(self) -> None:
        """Take the lock and write our process id into it; Refused if a live supervisor has it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._try():
            holder = holder_of(self._path)
            if holder is not None or time.monotonic() > deadline:
                raise Refused(
                    f"Retinue is already running on {self._path.parent} (process {holder or 'unknown'}): "
                    f"see `retinue status`, stop it with `retinue down`, or set RETINUE_DATA_DIR to another folder."
                )
            time.sleep(0.05)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.ftruncate(self._file, 0)
        os.close(self._file)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def is_held(path: Path) -> bool:
    """Whether a stack (or the warden of one that was killed) holds this lock."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def holder_of(path: Path) -> int | None:
    """The process id of the live supervisor written into the lock file, if there is one."""
    try:
        pid = int(path.read_text().strip() or 0)
        status = psutil.Process(pid).status() if pid else psutil.STATUS_ZOMBIE
    except (FileNotFoundError, ValueError, psutil.NoSuchProcess):
        return None
    return None if status == psutil.STATUS_ZOMBIE else pid
