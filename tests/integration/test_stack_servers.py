"""The servers by themselves: ready, migrated, and closed to strangers."""

import shutil
from pathlib import Path

from tests.kit.stack import Servers, data_folder, start_servers


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
