"""The life of a service, as a real process: start, serve, stop, and the exit codes."""

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

DEADLINE = 15

PROGRAM = """
import asyncio, os, sys
from chassis.errors import Misconfigured
from chassis.service import run
from chassis.settings import ServiceSettings

class Settings(ServiceSettings):
    service = "sample"

tried = 0

async def compose(service):
    mode = os.environ.get("MODE", "")
    async def stopper(name, seconds=0):
        print("stopping", name, flush=True)
        await asyncio.sleep(seconds)
    service.on_stop("first", lambda: stopper("first"))
    if mode == "slow-server":
        async def attempt():
            global tried
            tried += 1
            if tried < 3:
                raise ConnectionRefusedError("not yet")
            return "connected"
        print(await service.connect("bus", attempt), tried, flush=True)
    if mode == "no-server":
        async def never():
            raise ConnectionRefusedError("nobody home")
        await service.connect("bus", never)
    if mode == "wrong":
        raise Misconfigured("RETINUE_PUBLIC_URL must be an URL")
    if mode == "bug":
        raise KeyError("oops")
    if mode == "dies":
        async def part():
            await asyncio.sleep(0.2)
            raise ValueError("the part broke")
        service.spawn("part", part())
    if mode == "hangs":
        service.on_stop("hanger", lambda: stopper("hanger", 60))
    service.on_stop("last", lambda: stopper("last"))

run(Settings, compose)
"""


class Process:
    """A running sample service and the lines it has written."""

    def __init__(self, process):
        self.process = process
        self.lines = []

    async def logged(self, event):
        """The log line of this event, waited for."""
        async with asyncio.timeout(DEADLINE):
            while line := await self.process.stderr.readline():
                self.lines.append(json.loads(line) if line.startswith(b"{") else line.decode())
                if isinstance(self.lines[-1], dict) and self.lines[-1]["event"] == event:
                    return self.lines[-1]
        raise AssertionError(f"{event!r} was never logged: {self.lines}")

    async def end(self, *signals):
        """Send signals, wait for the end: exit code, standard output, standard error."""
        for sign in signals:
            self.process.send_signal(sign)
            await self.has_taken(sign)
        async with asyncio.timeout(DEADLINE):
            out, err = await self.process.communicate()
        return self.process.returncode, out.decode().splitlines(), err.decode()

    async def has_taken(self, sign):
        """Until the kernel has handed the signal over: two of a kind that still wait would be one."""
        async with asyncio.timeout(DEADLINE):
            while any(int(mask, 16) & (1 << (sign - 1)) for mask in self.waiting_signals()):  # noqa: ASYNC110 - no event for it
                await asyncio.sleep(0.01)

    def waiting_signals(self):
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except FileNotFoundError:  # it has ended
            return []
        return [line.split()[1] for line in status.splitlines() if line.startswith(("SigPnd", "ShdPnd"))]


@asynccontextmanager
async def sample(**env):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        env={"PATH": os.environ["PATH"], **env},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
async def test_serves_until_asked_and_stops_the_last_first(sign):
    async with sample(RETINUE_INSTANCE="sample-7", RETINUE_METRICS_TOKEN="t" * 20) as service:
        started = await service.logged("started")
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{started['health_port']}") as client:
            assert (await client.get("/readyz")).status_code == 200
            page = (await client.get("/metrics", headers={"Authorization": "Bearer " + "t" * 20})).text
        assert 'retinue_build_info{service="sample"' in page
        assert started["instance"] == "sample-7"
        code, out, err = await service.end(sign)
    assert code == 0
    assert out == ["stopping last", "stopping first"]
    assert json.loads(err.splitlines()[-1])["event"] == "stopped"


async def test_waits_for_a_server_and_says_so():
    async with sample(MODE="slow-server") as service:
        assert (await service.logged("waiting for a server"))["server"] == "bus"
        await service.logged("started")
        code, out, _ = await service.end(signal.SIGTERM)
    assert (code, out[0]) == (0, "connected 3")


async def test_gives_up_at_the_deadline():
    async with sample(MODE="no-server", RETINUE_CONNECT_DEADLINE="0.5") as service:
        told = await service.logged("cannot start")
        assert told["reason"] == "bus did not answer within 0.5 s (ConnectionRefusedError: nobody home)"
        assert (await service.end())[0] == 69


async def test_alive_but_not_ready_while_it_waits_and_a_stop_ends_the_wait(unused_tcp_port):
    async with sample(MODE="no-server", RETINUE_HEALTH_PORT=str(unused_tcp_port)) as service:
        await service.logged("waiting for a server")
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{unused_tcp_port}") as client:
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/readyz")).json()["missing"] == {"start": "starting", "bus": "connecting"}
        code, out, _ = await service.end(signal.SIGTERM)
    assert (code, out) == (0, ["stopping first"])


@pytest.mark.parametrize(
    ("env", "code", "words"),
    [
        ({"MODE": "wrong"}, 78, "RETINUE_PUBLIC_URL must be an URL"),
        ({"RETINUE_LOG_LEVEL": "loud"}, 78, "sample: RETINUE_LOG_LEVEL: Input should be"),
        ({"RETINUE_PUBLIC_URL": "https://x.test"}, 78, "NATS_URL is missing"),
        ({"MODE": "bug"}, 1, "KeyError"),
        ({"MODE": "dies"}, 1, "the part broke"),
    ],
)
async def test_what_cannot_go_on_says_why_and_exits_with_a_code(env, code, words):
    async with sample(**env) as service:
        ended, _, err = await service.end()
    assert ended == code
    assert words in err
    assert "Task exception was never retrieved" not in err


async def test_a_part_that_hangs_is_dropped_after_the_grace_and_the_rest_still_stops():
    async with sample(MODE="hangs", RETINUE_STOP_GRACE="0.5") as service:
        await service.logged("started")
        code, out, err = await service.end(signal.SIGTERM)
    assert code == 0
    assert out == ["stopping last", "stopping hanger", "stopping first"]
    assert "dropped at the end of the grace" in err


async def test_a_second_signal_ends_the_grace():
    async with sample(MODE="hangs", RETINUE_STOP_GRACE="60") as service:
        await service.logged("started")
        code, out, _ = await service.end(signal.SIGINT, signal.SIGINT)
    assert (code, out[-1]) == (0, "stopping first")


async def test_a_drain_has_a_grace_of_its_own():
    async with sample(MODE="hangs", RETINUE_STOP_GRACE="60", RETINUE_DRAIN_GRACE="0.5") as service:
        await service.logged("started")
        code, out, err = await service.end(signal.SIGUSR1)
    assert code == 0
    assert out == ["stopping last", "stopping hanger", "stopping first"]
    assert "dropped at the end of the grace" in err


async def test_a_stop_makes_a_drain_short():
    async with sample(MODE="hangs", RETINUE_STOP_GRACE="0.5", RETINUE_DRAIN_GRACE="60") as service:
        await service.logged("started")
        service.process.send_signal(signal.SIGUSR1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(service.process.wait(), 1)
        code, out, _ = await service.end(signal.SIGTERM)
    assert (code, out[-1]) == (0, "stopping first")


async def test_a_second_signal_ends_the_grace_of_a_drain_that_became_a_stop():
    async with sample(MODE="hangs", RETINUE_STOP_GRACE="60", RETINUE_DRAIN_GRACE="60") as service:
        await service.logged("started")
        code, out, _ = await service.end(signal.SIGUSR1, signal.SIGUSR1, signal.SIGTERM, signal.SIGTERM)
    assert (code, out[-1]) == (0, "stopping first")
