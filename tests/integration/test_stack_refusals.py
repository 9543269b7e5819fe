"""What the stack will not do: one clear sentence on stderr, a non-zero exit, nothing changed."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.up.private_files import write_private_json
from tests.kit.command import retinue
from tests.kit.stack import Servers, data_folder

# Whole stacks start here, on a machine that is busy with other tests.
pytestmark = pytest.mark.timeout(300)

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")


def refused(data_dir: Path, **env: str) -> str:
    """The sentence of a start that must fail."""
    answer = retinue("up", env={"RETINUE_DATA_DIR": str(data_dir), **env})
    assert answer.returncode == 1, answer.stderr
    assert answer.stdout == ""
    assert "Traceback" not in answer.stderr
    sentences = [line for line in answer.stderr.splitlines() if line.startswith("retinue: ")]
    assert len(sentences) == 1, answer.stderr
    return sentences[0]


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with data_folder() as path:
        yield path


def test_a_second_instance(servers: Servers) -> None:
    sentence = refused(servers.data_dir)
    assert "already running" in sentence
    assert str(servers.data_dir) in sentence
    assert all(row["ready"] for row in servers.ps())


def test_a_second_instance_in_the_background(servers: Servers) -> None:
    answer = retinue("up", "--detach", env={"RETINUE_DATA_DIR": str(servers.data_dir)})
    assert answer.returncode == 1
    assert "already running" in answer.stderr


def test_a_named_port_that_is_taken(data_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert f"Port {port} on 127.0.0.1 is taken" in refused(data_dir, RETINUE_PORT=str(port))
        answer = retinue("up", "--port", str(port), env={"RETINUE_DATA_DIR": str(data_dir)})
        assert (answer.returncode, f"Port {port} on 127.0.0.1 is taken" in answer.stderr) == (1, True)


def test_a_data_folder_of_a_newer_version(data_dir: Path) -> None:
    data_dir.mkdir()
    write_private_json(data_dir / "layout.json", {"version": 99})
    assert "written by a newer Retinue (layout 99" in refused(data_dir)
    assert sorted(path.name for path in data_dir.iterdir() if path.is_file()) == ["layout.json"]


@pytest.mark.parametrize("port", ["seventy", "70000", "-1"])
def test_a_port_that_is_none(data_dir: Path, port: str) -> None:
    assert "RETINUE_PORT" in refused(data_dir, RETINUE_PORT=port)


def test_a_setting_of_a_service_that_is_wrong(data_dir: Path) -> None:
    sentence = refused(data_dir, RETINUE_REGISTRATION="perhaps")
    assert "RETINUE_REGISTRATION" in sentence
    assert "gateway-1" in sentence


def test_a_folder_that_is_a_file(data_dir: Path) -> None:
    data_dir.write_text("")
    assert str(data_dir) in refused(data_dir)


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of 8 MiB."""
    with data_folder() as path:
        path.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", path], check=False)
        if mounted.returncode != 0:
            pytest.skip("this machine does not let us mount a small disk")
        yield path
        subprocess.run(["umount", path], check=True)


@AS_ROOT
def test_a_full_disk_is_seen_before_anything_starts(small_disk: Path) -> None:
    sentence = refused(small_disk / "data")
    assert "MiB are free" in sentence
    assert "RETINUE_MIN_FREE_MB" in sentence


@AS_ROOT
def test_a_disk_that_fills_while_starting(small_disk: Path) -> None:
    assert "no space left" in refused(small_disk / "data", RETINUE_MIN_FREE_MB="0").lower()


@AS_ROOT
def test_a_disk_without_a_byte(small_disk: Path) -> None:
    fill(small_disk / "ballast")
    assert "full" in refused(small_disk / "data", RETINUE_MIN_FREE_MB="0")


@AS_ROOT
def test_a_folder_that_postgres_cannot_reach(data_dir: Path) -> None:
    closed = data_dir / "closed"
    closed.mkdir(parents=True, mode=0o700)
    sentence = refused(closed / "data")
    assert f"cannot reach the data folder {closed}/data" in sentence
    assert "RETINUE_DATA_DIR" in sentence


def fill(path: Path) -> None:
    """Write until the disk is full."""
    ended = subprocess.run(["dd", "if=/dev/zero", f"of={path}"], capture_output=True, check=False)
    assert b"No space left" in ended.stderr


@pytest.mark.parametrize("verb", ["ps", "status", "down"])
def test_verbs_without_a_running_stack(data_dir: Path, verb: str) -> None:
    answer = retinue(verb, env={"RETINUE_DATA_DIR": str(data_dir)})
    assert answer.returncode == 1
    assert f"Retinue is not running on {data_dir}" in answer.stderr
