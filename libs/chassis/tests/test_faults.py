"""Fault points: free when off, taken once when armed, and they say who took them."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chassis import faults

REACHES = """
import sys
from pathlib import Path
from chassis import faults
faults.use(Path(sys.argv[1]))
faults.reached("claimed")
print("lived")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    faults.use(tmp_path)
    yield tmp_path
    faults.use(None)


def reach(folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", REACHES, str(folder)], capture_output=True, text=True, check=False)


def test_an_armed_point_kills_whoever_gets_there_first_and_nobody_else(tmp_path: Path) -> None:
    faults.arm(tmp_path, "claimed")
    before = time.time()
    assert reach(tmp_path).returncode == -9
    assert reach(tmp_path).stdout == "lived\n"
    (strike,) = faults.strikes(tmp_path)
    assert strike.point == "claimed"
    assert before <= strike.at <= time.time()


def test_a_point_may_kill_others_and_its_process_goes_on(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as victim:
        faults.arm(folder, "mid_text", [victim.pid])
        faults.reached("mid_text")
        assert victim.wait(10) == -9
    faults.arm(folder, "mid_text", [victim.pid])
    faults.reached("mid_text")  # who is gone already is no fault


def test_a_point_that_is_not_armed_or_disarmed_does_nothing(folder: Path) -> None:
    faults.reached("claimed")
    faults.arm(folder, "claimed")
    assert faults.disarm(folder, "claimed")
    assert not faults.disarm(folder, "claimed")
    faults.reached("claimed")
    assert faults.strikes(folder) == []


def test_without_a_folder_points_are_off(tmp_path: Path) -> None:
    assert faults.folder() is None
    faults.reached("claimed")


def test_only_points_that_exist_are_armed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no point"):
        faults.arm(tmp_path, "somewhere")
