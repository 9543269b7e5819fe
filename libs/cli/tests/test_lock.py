import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.up.lock import FolderLock, holder_of, is_held
from cli.up.refusal import Refused

HOLD = """
import sys, time
from pathlib import Path
from cli.up.lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
time.sleep(60)
"""


def hold_elsewhere(path: Path) -> subprocess.Popen[str]:
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    return other


def test_a_second_holder_is_refused_and_told_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    other = hold_elsewhere(path)
    try:
        assert is_held(path)
        assert holder_of(path) == other.pid
        with pytest.raises(Refused, match=f"already running on {tmp_path} \\(process {other.pid}\\)"):
            FolderLock(path).acquire()
    finally:
        other.kill()
        other.wait()


def test_the_lock_of_a_killed_holder_is_free(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    other = hold_elsewhere(path)
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    lock = FolderLock(path)
    lock.acquire()
    assert holder_of(path) == os.getpid()
    lock.release()
    assert not is_held(path)
    assert holder_of(path) is None
