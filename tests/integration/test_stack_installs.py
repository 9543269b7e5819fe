"""A fresh clone and an empty environment are enough: below a closed home as root, and as an ordinary user."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from cli.up import control
from tests.kit.stack import data_folder

ROOT = Path(__file__).parents[2]
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INSTALL_SECONDS = 420
START_SECONDS = 90

pytestmark = [
    pytest.mark.timeout(INSTALL_SECONDS + 2 * START_SECONDS),
    pytest.mark.skipif(os.geteuid() != 0, reason="changing users and homes needs root"),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a git clone knows its own files"),
]


@dataclass
class Clone:
    """A copy of this working tree, and the person who uses it."""

    folder: Path
    env: dict[str, str]
    person: list[str] = field(default_factory=list)  # the command that becomes them; empty for root

    def make(self, *goals: str) -> subprocess.Popen[str]:
        """Run make as in a terminal: its own process group, nothing but PATH, HOME and what is named here."""
        return subprocess.Popen(
            [*self.person, "env", "-i", *(f"{name}={value}" for name, value in self.env.items()), "make", *goals],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def setup(self) -> None:
        answer = self.make("setup")
        output, errors = answer.communicate(timeout=INSTALL_SECONDS)
        if answer.returncode != 0 and any(word in errors for word in ("Failed to fetch", "ENOTFOUND", "Connection")):
            pytest.skip(f"the package registry is out of reach: {errors.strip().splitlines()[0]}")
        assert answer.returncode == 0, output + errors


def copy_of_working_tree(target: Path) -> None:
    """What a clone would have if everything here were committed."""
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source = ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)


def runs_and_stops(clone: Clone, data_dir: Path) -> list[dict]:
    """`make up` until ready, then Ctrl-C; the processes as they were."""
    running = clone.make("up")
    assert running.stdout is not None
    ready = next((line for line in running.stdout if "is ready" in line), "")
    assert ready.startswith("Retinue is ready: http://127.0.0.1:"), running.communicate(timeout=START_SECONDS)
    processes = control.ps(data_dir)
    for row in processes:
        row["user"] = psutil.Process(row["pid"]).username()
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=START_SECONDS)
    assert "Retinue has stopped" in errors
    assert not any(psutil.pid_exists(row["pid"]) and _lives(row["pid"]) for row in processes)
    return processes


def _lives(pid: int) -> bool:
    return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with data_folder() as path:
        yield path


@pytest.fixture
def closed_home() -> Iterator[Path]:
    """A home below which no other user can look."""
    home = Path(tempfile.mkdtemp(prefix="retinue-home-", dir="/root" if os.access("/root", os.W_OK) else None))
    home.chmod(0o700)
    yield home
    shutil.rmtree(home)


def test_as_root_from_a_clone_below_a_closed_home(closed_home: Path, data_dir: Path) -> None:
    clone = Clone(
        closed_home / "retinue",
        {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "RETINUE_DATA_DIR": str(data_dir),
            "RETINUE_KEYS": str(data_dir.parent / "keys"),
            "RETINUE_PORT": "0",
        },
    )
    copy_of_working_tree(clone.folder)
    clone.setup()
    users = {row["name"]: row["user"] for row in runs_and_stops(clone, data_dir)}
    assert users["postgres"] in ("postgres", "nobody")
    assert users["gateway-1"] == "root"
    copies = [path.name for path in (data_dir / "servers").iterdir()]
    assert len(copies) == 1, "the server files that Postgres' user cannot reach are copied once"
    runs_and_stops(clone, data_dir)


@pytest.fixture
def ordinary_user() -> Iterator[pwd.struct_passwd]:
    name = f"retinue-test-{os.getpid()}"
    made = subprocess.run(["useradd", "--create-home", name], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"this machine does not let us add a user: {made.stderr.strip()}")
    yield pwd.getpwnam(name)
    subprocess.run(["userdel", "--remove", name], capture_output=True, check=True)


def test_as_an_ordinary_user(ordinary_user: pwd.struct_passwd) -> None:
    home = Path(ordinary_user.pw_dir)
    identity = [f"--reuid={ordinary_user.pw_uid}", f"--regid={ordinary_user.pw_gid}", "--init-groups"]
    clone = Clone(
        home / "retinue",
        {"PATH": SYSTEM_PATH, "HOME": str(home), "RETINUE_PORT": "0"},
        person=["setpriv", *identity],
    )
    copy_of_working_tree(clone.folder)
    subprocess.run(["chown", "-R", f"{ordinary_user.pw_uid}:{ordinary_user.pw_gid}", home], check=True)
    if clone.make("python").wait() != 0:
        pytest.skip("an ordinary user of this machine has no Python 3.11 or newer")
    clone.setup()
    data_dir = home / ".local" / "share" / "retinue"
    processes = runs_and_stops(clone, data_dir)
    assert {row["user"] for row in processes} == {ordinary_user.pw_name}
    assert not (data_dir / "servers").exists()
    open_to_others = [path for path in (data_dir, *data_dir.rglob("*")) if path.exists() and path.stat().st_mode & 0o77]
    # Postgres lets its group list its folders if it was made so; ours was not.
    assert open_to_others == []
