"""Every service restarted one after the other, under load: people see a reconnect and nothing else."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from cli.bench.batches import Chunk
from cli.bench.client import TurnClient, Watch
from cli.up.ending import MARK
from cli.up.folder import DataFolder
from cli.up.private_files import read_json
from tests.kit.callers import Caller
from tests.kit.command import retinue
from tests.kit.model import ScriptedModel
from tests.kit.stack import Stack, data_folder, start_stack
from tests.kit.waiting import eventually

# Whole stacks start here, on a machine that is busy with other tests.
pytestmark = pytest.mark.timeout(300)

STREAMS = 60
SERVICES = ["gateway-1", "turn-runner-1", "turn-runner-2"]
ANSWER = '[[tool=calculator:{"expression": "20+22"} tokens=40 rate=20]] [[tokens=60 rate=20]]'


@pytest.fixture(scope="module")
def own() -> Iterator[Stack]:
    """A stack of this module's own, before a scripted model."""
    with ScriptedModel.started() as model, data_folder() as data_dir:
        env = {
            "OPENAI_BASE_URL": model.url,
            "RETINUE_MODEL": "openai/scripted",
            "RETINUE_TURNS_PER_USER": "1000",
            "RETINUE_TURNS_TOTAL": "1000",
            "RETINUE_DATABASE_POOL": "30",  # a busy machine, not a restart, would let requests wait for one
        }
        running = start_stack(data_dir, env)
        yield running
        running.stop()


@pytest.fixture(scope="module")
def token(own: Stack) -> str:
    with httpx.Client(base_url=own.url, headers={"origin": own.url}, trust_env=False) as browser:
        browser.post("/api/auth/register", json={"username": "roller", "password": "rolling and rolling"})
        return browser.post("/api/tokens", json={"name": "t"}).raise_for_status().json()["token"]


def request_under_way(stack: Stack) -> socket.socket:
    """A request whose body does not come: the gateway that has it cannot leave."""
    host, port = stack.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=40)
    head = f"POST /api/auth/login HTTP/1.1\r\nhost: {host}:{port}\r\norigin: {stack.url}\r\n"
    connection.sendall(f"{head}content-type: application/json\r\ncontent-length: 40\r\n\r\n".encode())
    served = httpx.get(f"{stack.url}/api/config", trust_env=False)  # so that ours was read, too
    assert served.status_code == 200
    return connection


def names(stack: Stack) -> set[str]:
    return {row["name"] for row in stack.ps()}


def processes_of(data_dir: Path) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(data_dir) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def notice(taken_back: list[str], chunk: Chunk) -> None:
    """A turn that is released before its first step supersedes its `start`, which nobody sees: no part is named."""
    if chunk["type"] == "data-superseded":
        taken_back += chunk["data"]["parts"]


async def talk(
    client: TurnClient, thread: str, begun: asyncio.Barrier, done: asyncio.Event, taken_back: list[str]
) -> list[Watch]:
    """Turn after turn in one thread, each watched to its end."""
    watched: list[Watch] = []
    while not done.is_set():
        watch = await client.send(thread, f"round {len(watched)} {ANSWER}")
        watch.on_chunk = partial(notice, taken_back)
        if not watched:
            await watch.until(lambda message: said(message.shown) != "")
            await begun.wait()
        await watch.to_end()
        watched.append(watch)
    return watched


async def talk_through(client: TurnClient, thread: str, begun: asyncio.Barrier) -> Watch:
    """An answer that goes on until its connection was reset and another one shows it; then it is stopped."""
    watch = await client.send(thread, "Go on [[tokens=1200 rate=20]]")
    await watch.until(lambda message: said(message.shown) != "")
    await begun.wait()
    await watch.until(lambda _: watch.connections > 1, 50)
    await client.stop(thread, watch.turn_id)
    await watch.to_end()
    return watch


def told(stack: Stack, turn_id: str | None) -> str:
    """What the services' logs say of a turn, and of anything that was swept or went wrong."""
    words = (str(turn_id), '"swept"', '"warning"', '"error"', '"started"', '"stopped"')
    lines = [line for name in SERVICES for line in stack.log(name).splitlines() if any(word in line for word in words)]
    return "\n".join(sorted(lines, key=lambda line: line.partition('"at": ')[2]))


def as_kept(message: dict[str, Any]) -> Any:
    return message["id"], message["role"], message["parts"], message["metadata"]


def said(message: dict[str, Any]) -> str:
    return " ".join(part["text"] for part in message["parts"] if part["type"] == "text")


async def test_a_rolling_restart_under_load_is_a_reconnect(own: Stack, token: str) -> None:
    before = {row["name"]: row for row in await asyncio.to_thread(own.ps)}
    done, begun, taken_back = asyncio.Event(), asyncio.Barrier(STREAMS + 2), list[str]()
    callers = [Caller(own.url, token, keeps) for keeps in (True, True, False, False)]
    async with TurnClient(own.url, token) as client:
        threads = [await client.thread() for _ in range(STREAMS + 1)]
        talks = [asyncio.create_task(talk(client, thread, begun, done, taken_back)) for thread in threads[1:]]
        steady = asyncio.create_task(talk_through(client, threads[0], begun))
        asking = [asyncio.create_task(caller.ask_until(done)) for caller in callers]
        async with asyncio.timeout(60):
            await begun.wait()  # all are in the middle of their first answers
        restarted = await asyncio.to_thread(own.restart)
        done.set()
        watched = await asyncio.gather(*talks)
        reset = await steady
        await asyncio.gather(*asking)
    async with TurnClient(own.url, token) as later:
        kept = {m["id"]: m for thread in threads for m in await later.messages(thread)}

    assert [row["name"] for row in restarted] == SERVICES
    after = {row["name"]: row for row in await asyncio.to_thread(own.ps)}
    assert set(after) == set(before)
    assert all(row["ready"] for row in after.values())
    assert {name: after[name]["restarts"] - before[name]["restarts"] for name in after} == {
        name: int(name in SERVICES) for name in after
    }

    turns = [watch for one in watched for watch in one]
    assert len(turns) >= STREAMS
    for watch in turns:
        shown = watch.message.shown
        assert as_kept(shown) == as_kept(kept[shown["id"]])
        assert len(said(shown).split()) == 100, said(shown)
        assert (watch.message.error, watch.message.is_aborted) == (None, False)
        assert watch.restarts == 0, await asyncio.to_thread(told, own, watch.turn_id)
    assert taken_back == [], await asyncio.to_thread(told, own, "superseded")
    assert (reset.message.is_aborted, reset.restarts) == (True, 0)
    assert as_kept(reset.message.shown) == as_kept(kept[reset.message.shown["id"]])

    assert [caller.broken_fresh for caller in callers] == [[]] * len(callers)
    assert all(caller.answers > 20 for caller in callers)
    assert sum(caller.closings for caller in callers) >= 1, "the gateway that left told nobody"
    for caller in callers:  # what is allowed: a kept connection that is gone before the first byte
        assert all("after 0 bytes" in wrong or "ConnectionReset" in wrong for wrong in caller.broken_reused)


@contextmanager
def restarting(*arguments: str, data_dir: Path) -> Iterator[Future[Any]]:
    """`retinue restart`, while it runs."""
    with ThreadPoolExecutor(1) as beside:
        yield beside.submit(retinue, "restart", *arguments, env={"RETINUE_DATA_DIR": str(data_dir)})


def test_while_it_lasts_both_are_listed_and_a_second_restart_is_refused(own: Stack) -> None:
    old = own.process_of("gateway-1")
    under_way = request_under_way(own)
    with closing(under_way), restarting("gateway-1", "--json", data_dir=own.data_dir) as first:
        eventually(lambda: "gateway-1.old" in names(own), 60, "the old one drains")
        rows = {row["name"]: row for row in own.ps()}
        assert (rows["gateway-1.old"]["pid"], rows["gateway-1.old"]["state"]) == (old["pid"], "draining")
        assert rows["gateway-1.old"]["ports"][0] == rows["gateway-1"]["ports"][0], "they share the public port"
        assert rows["gateway-1"]["ready"]
        assert rows["gateway-1"]["restarts"] == old["restarts"] + 1
        second = retinue("restart", env={"RETINUE_DATA_DIR": str(own.data_dir)})
        assert (second.returncode, second.stdout) == (1, "")
        assert "A restart is under way, of gateway-1 at the moment" in second.stderr
        assert second.stderr.count("\n") == 1
        assert not first.done()
        under_way.close()
        answer = first.result(60)
    assert answer.returncode == 0, answer.stderr
    (row,) = json.loads(answer.stdout)
    assert (row["name"], row["was"], row["pid"]) == ("gateway-1", old["pid"], rows["gateway-1"]["pid"])
    assert names(own) == {*SERVICES, "nats", "postgres", "valkey"}


def test_a_new_process_that_cannot_start_leaves_the_old_one(own: Stack) -> None:
    before = own.process_of("gateway-1")
    ports = read_json(DataFolder(own.data_dir).ports)
    other = next(
        ports[name] for name in ("gateway-1.health", "gateway-1.health2") if ports[name] not in before["ports"]
    )
    with closing(socket.create_server(("127.0.0.1", other))):
        answer = retinue("restart", env={"RETINUE_DATA_DIR": str(own.data_dir)})
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr.startswith("retinue: gateway-1 was not restarted and its old process goes on: ")
    assert f"port {other}" in answer.stderr
    assert own.process_of("gateway-1") == before
    assert names(own) == {*SERVICES, "nats", "postgres", "valkey"}
    assert own.process_of("turn-runner-1")["ready"]


def test_a_server_is_stopped_and_started_and_services_wait(own: Stack) -> None:
    services = {row["name"]: row["pid"] for row in own.ps() if row["kind"] == "service"}
    old = own.process_of("valkey")
    answer = retinue("restart", "valkey", env={"RETINUE_DATA_DIR": str(own.data_dir)})
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("valkey was restarted (")
    new = own.process_of("valkey")
    assert (new["ready"], new["restarts"]) == (True, old["restarts"] + 1)
    assert new["pid"] != old["pid"]
    eventually(lambda: all(row["ready"] for row in own.ps()), 30)
    assert {row["name"]: row["pid"] for row in own.ps() if row["kind"] == "service"} == services


@pytest.mark.parametrize("way", ["down", "kill"])
def test_the_end_of_the_stack_ends_a_restart(way: str) -> None:
    """`retinue down`, and a supervisor that is killed, leave neither of the two processes."""
    with data_folder() as data_dir:
        stack = start_stack(data_dir)
        under_way = request_under_way(stack)
        with closing(under_way), restarting("gateway-1", data_dir=data_dir) as restart:
            eventually(lambda: "gateway-1.old" in names(stack), 60, "the old one drains")
            begun = time.monotonic()
            if way == "kill":
                stack.process.kill()
            else:
                assert retinue("down", env={"RETINUE_DATA_DIR": str(data_dir)}).returncode == 0
            stack.process.wait(30)
            eventually(lambda: not processes_of(data_dir), 10, "all children ended")
            assert time.monotonic() - begun < 25, "nobody waits for a drain"
            answer = restart.result(10)
            assert (answer.returncode, answer.stdout) == (1, "")
            assert answer.stderr.count("\n") == 1
