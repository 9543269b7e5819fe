"""Children that die are started again with their data; when the supervisor dies, they end."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from cli.up import control
from cli.up.ending import MARK
from cli.up.folder import DataFolder
from cli.up.private_files import read_json
from cli.up.refusal import Refused
from tests.kit.keepsakes import Keepsakes
from tests.kit.stack import Servers, data_folder, start_servers
from tests.kit.waiting import eventually

# Whole stacks start here, on a machine that is busy with other tests.
pytestmark = pytest.mark.timeout(300)

SERVERS = ("nats", "postgres", "valkey")


@pytest.fixture(scope="module")
def own() -> Iterator[Servers]:
    """Servers of this module's own, to be killed at will."""
    with data_folder() as data_dir:
        servers = start_servers(data_dir)
        yield servers
        servers.stop()


def is_back(servers: Servers, name: str, old: int) -> bool:
    row = servers.process_of(name)
    return row["ready"] and row["pid"] != old


def processes_of(data_dir: Path) -> list[psutil.Process]:
    """All live processes that carry the mark of this stack."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(data_dir) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def warden_of(data_dir: Path) -> int | None:
    for process in psutil.process_iter():
        try:
            if process.cmdline()[-2:] == ["cli.up.warden", str(data_dir)]:
                return process.pid
        except psutil.Error:
            continue
    return None


@pytest.mark.parametrize("name", SERVERS)
async def test_a_killed_server_comes_back_with_its_data(own: Servers, name: str) -> None:
    keepsakes = Keepsakes(own, f"before {name} is killed")
    await keepsakes.keep()
    before = await asyncio.to_thread(own.process_of, name)
    os.kill(before["pid"], signal.SIGKILL)
    await asyncio.to_thread(eventually, lambda: is_back(own, name, before["pid"]), 20)
    assert (await asyncio.to_thread(own.process_of, name))["restarts"] == before["restarts"] + 1
    assert await keepsakes.missing() == []


async def test_all_servers_killed_at_once_come_back_with_their_data(own: Servers) -> None:
    keepsakes = Keepsakes(own, "before all are killed")
    await keepsakes.keep()
    before = {row["name"]: row["pid"] for row in await asyncio.to_thread(own.ps)}
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    for name, pid in before.items():
        await asyncio.to_thread(eventually, lambda name=name, pid=pid: is_back(own, name, pid), 20)
    assert await keepsakes.missing() == []


def test_a_held_server_rests_and_then_returns(own: Servers) -> None:
    before = own.process_of("valkey")["pid"]
    begun = time.monotonic()
    own.hold("valkey", 0.7)
    assert time.monotonic() - begun >= 0.7
    assert is_back(own, "valkey", before)


def test_a_stopped_server_stays_away_until_it_is_started(own: Servers) -> None:
    own.stop_process("valkey")
    row = own.process_of("valkey")
    assert (row["pid"], row["ready"], row["state"]) == (None, False, "stopped")
    own.start_process("valkey")
    assert own.process_of("valkey")["ready"]


def test_an_unknown_name_is_refused(own: Servers) -> None:
    with pytest.raises(Refused, match=r"no process 'mysql'; there are nats, postgres, valkey"):
        own.hold("mysql", 1)


def test_a_killed_warden_is_replaced(own: Servers) -> None:
    first = warden_of(own.data_dir)
    assert first is not None
    os.kill(first, signal.SIGKILL)
    eventually(lambda: warden_of(own.data_dir) not in (None, first), 10)


async def test_children_end_when_the_supervisor_is_killed_and_the_next_start_finds_all() -> None:
    with data_folder() as data_dir:
        first = await asyncio.to_thread(start_servers, data_dir)
        keepsakes = Keepsakes(first, "before the supervisor is killed")
        await keepsakes.keep()
        assert len(processes_of(data_dir)) >= 3
        first.process.kill()
        first.process.wait()
        await asyncio.to_thread(eventually, lambda: not processes_of(data_dir), 8, "all children ended")
        second = await asyncio.to_thread(start_servers, data_dir)
        assert await Keepsakes(second, keepsakes.text).missing() == []
        assert await asyncio.to_thread(second.stop) == 0


def test_children_are_ended_by_the_next_start_when_the_warden_was_killed_too() -> None:
    with data_folder() as data_dir:
        first = start_servers(data_dir)
        warden = warden_of(data_dir)
        assert warden is not None
        # Stopped first, so that it can neither be replaced nor act on the end of its pipe.
        first.process.send_signal(signal.SIGSTOP)
        os.kill(warden, signal.SIGKILL)
        first.process.kill()
        first.process.wait()
        orphans = {process.pid for process in processes_of(data_dir)}
        assert orphans
        second = start_servers(data_dir)
        assert not orphans & {process.pid for process in processes_of(data_dir)}
        second.stop()


def test_a_start_right_after_a_kill_waits_for_the_old_children() -> None:
    with data_folder() as data_dir:
        first = start_servers(data_dir)
        first.process.kill()
        second = start_servers(data_dir)
        assert all(row["ready"] for row in second.ps())
        second.stop()
        first.process.wait()


async def test_interrupt_stops_cleanly_and_a_second_start_has_all_data() -> None:
    with data_folder() as data_dir:
        first = await asyncio.to_thread(start_servers, data_dir)
        ports = read_json(DataFolder(data_dir).ports)
        keepsakes = Keepsakes(first, "before the interrupt")
        await keepsakes.keep()
        first.process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(first.process.wait, 30) == 0
        assert processes_of(data_dir) == []
        assert not DataFolder(data_dir).state.exists()
        assert "database system is shut down" in first.log("postgres")
        second = await asyncio.to_thread(start_servers, data_dir)
        assert read_json(DataFolder(data_dir).ports) == ports
        assert await Keepsakes(second, keepsakes.text).missing() == []
        await asyncio.to_thread(control.down, data_dir)
        assert second.process.wait(10) == 0
