"""The health port over real sockets: alive, ready, and metrics behind a token."""

import asyncio

import httpx
import pytest

from chassis import health, http

TOKEN = "metrics-token-of-this-test"


@pytest.fixture
async def port():
    readiness = health.Readiness(timeout=0.1)
    server = http.HttpServer(health.app(readiness, instance="sample-1", metrics_token=TOKEN), http.bind("127.0.0.1", 0))
    await server.start()
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as client:
        yield client, readiness
    await server.stop(0)


async def test_alive_whatever_is_missing(port):
    client, readiness = port
    readiness.hold("nats", "away")
    answer = await client.get("/healthz")
    assert (answer.status_code, answer.json()["instance"]) == (200, "sample-1")


async def test_ready_when_every_check_passes(port):
    client, readiness = port

    async def fine():
        return None

    readiness.check("postgres", fine)
    assert (await client.get("/readyz")).json() == {"status": "ready", "instance": "sample-1", "missing": {}}


async def test_not_ready_names_what_is_missing_and_quotes_nothing(port):
    client, readiness = port

    async def slow():
        await asyncio.Event().wait()

    async def broken():
        raise ConnectionRefusedError("postgresql://gateway:hush@db")

    async def false():
        return False

    for name, check in (("nats", slow), ("postgres", broken), ("runner", false)):
        readiness.check(name, check)
    answer = await client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["missing"] == {
        "nats": "no answer within 0.1 s",
        "postgres": "ConnectionRefusedError",
        "runner": "not ready",
    }
    assert "hush" not in answer.text


async def test_a_hold_is_not_ready_until_released(port):
    client, readiness = port
    readiness.hold("start", "starting")
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["missing"]) == (503, {"start": "starting"})
    readiness.release("start")
    assert (await client.get("/readyz")).status_code == 200


async def test_callers_at_the_same_time_share_one_round():
    readiness = health.Readiness(timeout=10)
    asked = 0

    async def count():
        nonlocal asked
        asked += 1

    readiness.check("postgres", count)
    assert await asyncio.gather(*(readiness.missing() for _ in range(10))) == [{}] * 10
    assert asked == 1
    assert await readiness.missing() == {}
    assert asked == 2


@pytest.mark.parametrize("header", [None, "", TOKEN, "Bearer", "Bearer wrong", f"Basic {TOKEN}", "Bearer é"])
async def test_metrics_refuse_without_the_token(port, header):
    client, _ = port
    headers = {} if header is None else {"Authorization": header.encode()}
    answer = await client.get("/metrics", headers=headers)
    assert answer.status_code == 401
    assert "retinue_" not in answer.text


async def test_metrics_with_the_token(port):
    client, _ = port
    answer = await client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert "retinue_build_info" in answer.text


def test_an_empty_token_opens_nothing():
    assert not health.bearer_matches("Bearer ", "")
    assert not health.bearer_matches("", "")
