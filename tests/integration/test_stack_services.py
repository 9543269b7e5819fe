"""The whole stack: one address, processes that return, connections that wait for the gateway."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator

import httpx
import psutil
import pytest

from tests.kit.command import retinue
from tests.kit.stack import Stack, data_folder, start_stack
from tests.kit.waiting import eventually

# Whole stacks start here, on a machine that is busy with other tests.
pytestmark = pytest.mark.timeout(300)

NAMES = ["gateway-1", "nats", "postgres", "turn-runner-1", "turn-runner-2", "valkey"]


@pytest.fixture(scope="module")
def own() -> Iterator[Stack]:
    """A stack of this module's own, to be killed at will."""
    with data_folder() as data_dir:
        running = start_stack(data_dir)
        yield running
        running.stop()


def is_back(stack: Stack, name: str, old: int) -> bool:
    row = stack.process_of(name)
    return row["ready"] and row["pid"] != old


def test_ps_lists_every_process_ready(own: Stack) -> None:
    answer = retinue("ps", "--json", env={"RETINUE_DATA_DIR": str(own.data_dir)})
    assert answer.returncode == 0, answer.stderr
    rows = json.loads(answer.stdout)
    assert sorted(row["name"] for row in rows) == NAMES
    assert {frozenset(row) for row in rows} == {frozenset(("name", "kind", "pid", "ports", "ready"))}
    assert {row["kind"] for row in rows} == {"server", "service"}
    assert all(row["ready"] and row["pid"] > 1 and row["ports"] for row in rows)


def test_status_doctor_and_logs_speak_of_it(own: Stack) -> None:
    env = {"RETINUE_DATA_DIR": str(own.data_dir)}
    assert own.url in retinue("status", env=env).stdout
    doctor = retinue("doctor", env=env)
    assert doctor.returncode == 0, doctor.stdout
    logs = retinue("logs", "gateway-1", "-n", "5", env=env)
    assert logs.returncode == 0
    assert "started" in logs.stdout or "listening" in logs.stdout
    assert "There is no log of 'nobody'" in retinue("logs", "nobody", env=env).stderr


def test_health_is_bare_and_metrics_are_not(own: Stack) -> None:
    for row in own.ps():
        if row["kind"] == "service":
            health = f"http://127.0.0.1:{row['ports'][-1]}"
            assert httpx.get(f"{health}/healthz").status_code == 200
            assert httpx.get(f"{health}/readyz").status_code == 200
            assert httpx.get(f"{health}/metrics").status_code == 401


@pytest.mark.parametrize("name", ["gateway-1", "turn-runner-1", "turn-runner-2"])
def test_a_killed_service_comes_back(own: Stack, name: str) -> None:
    before = own.process_of(name)["pid"]
    os.kill(before, signal.SIGKILL)
    eventually(lambda: is_back(own, name, before), 30)
    assert httpx.get(own.url).status_code < 500


@pytest.mark.parametrize("name", ["nats", "postgres", "valkey"])
def test_services_survive_a_killed_server(own: Stack, name: str) -> None:
    services = {row["name"]: row["pid"] for row in own.ps() if row["kind"] == "service"}
    before = own.process_of(name)["pid"]
    os.kill(before, signal.SIGKILL)
    eventually(lambda: is_back(own, name, before), 20)
    eventually(lambda: all(row["ready"] for row in own.ps()), 30)
    assert {row["name"]: row["pid"] for row in own.ps() if row["kind"] == "service"} == services


def test_a_request_waits_while_the_gateway_is_away(own: Stack) -> None:
    own.stop_process("gateway-1")
    host, port = own.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=40) as early:
        early.sendall(b"GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % f"{host}:{port}".encode())
        own.start_process("gateway-1")
        assert early.recv(64).startswith(b"HTTP/1.1 ")


def test_detached_down_and_up_again() -> None:
    with data_folder() as data_dir:
        env = {"RETINUE_DATA_DIR": str(data_dir)}
        first = retinue("up", "--detach", env=env)
        assert first.returncode == 0, first.stderr
        assert first.stdout.startswith("Retinue is ready: http://127.0.0.1:")
        assert first.stdout.count("\n") == 1
        assert retinue("down", env=env).returncode == 0
        second = retinue("up", "--detach", env=env)
        assert second.stdout == first.stdout, "the address is kept"
        assert retinue("down", env=env).returncode == 0
        assert retinue("ps", env=env).returncode == 1


def test_the_ready_line_names_the_public_address_and_behind_it_stands_what_will_not_work() -> None:
    with data_folder() as data_dir:
        env = {"RETINUE_DATA_DIR": str(data_dir)}
        strangers = {"RETINUE_PUBLIC_URL": "https://retinue.example.org", "RETINUE_MODEL": "nope/x"}
        started = retinue("up", "--detach", env=env | strangers)
        assert started.stdout == "Retinue is ready: https://retinue.example.org\n", started.stderr
        assert "listening on http://127.0.0.1:" in started.stderr
        assert started.stderr.splitlines()[-1].startswith("Warning: the default model (RETINUE_MODEL) cannot be asked")
        status = retinue("status", env=env).stdout
        assert status.startswith("Retinue: https://retinue.example.org\nWarning: ")
        assert "WRONG  model" in retinue("doctor", env=env).stdout
        assert retinue("down", env=env).returncode == 0


def test_a_service_that_is_stuck_is_killed_after_its_grace() -> None:
    with data_folder() as data_dir:
        stack = start_stack(data_dir, {"RETINUE_GRACE_SECONDS": "0.5"})
        os.kill(stack.process_of("turn-runner-1")["pid"], signal.SIGSTOP)
        begun = time.monotonic()
        stack.process.send_signal(signal.SIGTERM)
        assert stack.process.wait(20) == 0
        assert time.monotonic() - begun < 10


def test_a_second_interrupt_ends_the_patience() -> None:
    with data_folder() as data_dir:
        stack = start_stack(data_dir, {"RETINUE_GRACE_SECONDS": "60"})
        stuck = stack.process_of("turn-runner-1")["pid"]
        os.kill(stuck, signal.SIGSTOP)
        stack.process.send_signal(signal.SIGINT)
        eventually(lambda: stack.ps()[-1]["pid"] is None, 20, "the other services have ended")
        stack.process.send_signal(signal.SIGINT)
        assert stack.process.wait(20) == 0
        assert not is_running(stuck)


def test_nothing_outlives_a_killed_supervisor() -> None:
    with data_folder() as data_dir:
        stack = start_stack(data_dir)
        pids = [row["pid"] for row in stack.ps()]
        stack.process.kill()
        stack.process.wait()
        eventually(lambda: not any(is_running(pid) for pid in pids), 10, "all children ended")
        again = start_stack(data_dir)
        assert all(row["ready"] for row in again.ps())
        assert again.url == stack.url
        again.stop()


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
