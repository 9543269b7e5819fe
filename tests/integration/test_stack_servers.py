"""The servers by themselves: ready, migrated, and closed to strangers."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.up import control
from tests.kit.stack import QUIET, Servers, data_folder, start_servers
from tests.kit.waiting import eventually

# Whole stacks start here, on a machine that is busy with other tests.
pytestmark = pytest.mark.timeout(300)


def test_three_servers_are_ready(servers: Servers) -> None:
    rows = servers.ps()
    assert {row["name"]: row["ready"] for row in rows} == {"nats": True, "postgres": True, "valkey": True}


def test_the_migration_is_skipped_only_while_everything_is_as_it_left_it() -> None:
    with data_folder() as data_dir:
        assert "tables and streams are up to date" in started_and_stopped(data_dir)
        assert "tables and streams are up to date" not in started_and_stopped(data_dir)
        shutil.rmtree(data_dir / "nats" / "jetstream")
        assert "tables and streams are up to date" in started_and_stopped(data_dir), "the streams were gone"
        (data_dir / "migrated.json").write_text('{"code": "of another version"}')
        assert "tables and streams are up to date" in started_and_stopped(data_dir), "the code was another"


def started_and_stopped(data_dir: Path) -> str:
    """What the supervisor said in one run."""
    told = data_dir.with_name(data_dir.name + ".supervisor.log")
    told.unlink(missing_ok=True)
    assert start_servers(data_dir).stop() == 0
    return told.read_text()


def test_the_stack_goes_on_when_nobody_reads_what_it_says() -> None:
    with data_folder() as data_dir:
        command = [sys.executable, "-m", "cli.main", "up", "--servers-only"]
        running = subprocess.Popen(
            command,
            env=os.environ | QUIET | {"RETINUE_DATA_DIR": str(data_dir)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert running.stderr is not None
        assert running.stdout is not None
        running.stderr.readline()
        running.stderr.close()
        assert running.stdout.readline() == b"Retinue is ready: servers only\n"
        running.stdout.close()
        before = control.ps(data_dir)[0]["pid"]
        os.kill(before, signal.SIGKILL)
        eventually(lambda: control.ps(data_dir)[0]["pid"] not in (None, before), 20)
        control.down(data_dir)
        assert running.wait(20) == 0
