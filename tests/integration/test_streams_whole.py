"""The whole way on the real stack: a message, its answer in several windows, stops, a gateway that is killed."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from cli.bench.batches import Message
from cli.bench.client import TurnClient
from tests.kit.model import ScriptedModel
from tests.kit.stack import Stack, data_folder, start_stack
from tests.kit.waiting import eventually

STREAMS = 100


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel.started() as running:
        yield running


@pytest.fixture(scope="module")
def whole(model: ScriptedModel) -> Iterator[Stack]:
    env = {
        "OPENAI_BASE_URL": model.url,
        "RETINUE_MODEL": "openai/scripted",
        "RETINUE_TURNS_PER_USER": "1000",
        "RETINUE_TURNS_TOTAL": "1000",
    }
    with data_folder() as data_dir:
        running = start_stack(data_dir, env)
        yield running
        running.stop()


@pytest.fixture(scope="module")
def token(whole: Stack) -> str:
    with httpx.Client(base_url=whole.url, headers={"origin": whole.url}, trust_env=False) as browser:
        account = {"username": "watcher", "password": "watching and waiting"}
        browser.post("/api/auth/register", json=account).raise_for_status()
        return browser.post("/api/tokens", json={"name": "t"}).raise_for_status().json()["token"]


@pytest.fixture
async def client(whole: Stack, token: str) -> AsyncIterator[TurnClient]:
    async with TurnClient(whole.url, token) as client:
        yield client


def text(message: Message) -> str:
    return "".join(part["text"] for part in message.reducer.parts if part["type"] == "text")


def parts(message: dict[str, Any]) -> Any:
    return message["id"], message["role"], message["parts"], message["metadata"]


async def test_what_every_window_shows_is_what_is_kept(client: TurnClient) -> None:
    thread = await client.thread()
    first = await client.send(thread, "windows [[reasoning=5 tokens=60 rate=60]]")
    first.keeps_raw = True
    await first.until(lambda m: len(text(m)) > 20)
    late = client.watch(thread)
    late.keeps_raw = True
    await asyncio.gather(first.to_end(), late.to_end())
    replay = client.watch(thread, first.turn_id)
    replay.keeps_raw = True
    await replay.to_end()
    kept = (await client.messages(thread))[-1]
    assert {bytes(first.raw), bytes(late.raw)} == {bytes(replay.raw)}
    for window in (first, late, replay):
        assert parts(window.message.shown) == parts(kept)


async def test_a_turn_with_tools_streams_what_is_kept(client: TurnClient) -> None:
    thread = await client.thread()
    wish = 'sum [[tool=calculator:{"expression": "6*7"} tool=current_time:{} tokens=5]] [[tokens=20 rate=100]]'
    watch = await client.send(thread, wish)
    message = await watch.to_end()
    kept = (await client.messages(thread))[-1]
    assert parts(message.shown) == parts(kept)
    assert [part["type"] for part in kept["parts"]].count("step-start") == 2
    assert any(part.get("output") is not None for part in kept["parts"])


async def test_a_stop_closes_the_models_connection_within_300_ms(client: TurnClient, model: ScriptedModel) -> None:
    thread = await client.thread()
    watch = await client.send(thread, "stop me soon [[tokens=2000 rate=20]]")
    await watch.until(lambda m: len(text(m)) > 20)
    asked = time.monotonic_ns()
    await client.stop(thread, watch.turn_id)
    message = await watch.to_end(10)
    (served,) = await model.wait(ended=1, user="stop me soon")
    assert served["outcome"] == "cancelled"
    assert (served["ended_ns"] - asked) / 1e6 < 300
    assert message.is_aborted
    kept = (await client.messages(thread))[-1]
    assert parts(message.shown) == parts(kept)
    assert kept["metadata"]["retinue"]["status"] == "stopped"


async def test_a_second_message_replaces_the_first(client: TurnClient) -> None:
    thread = await client.thread()
    first = await client.send(thread, "one [[tokens=2000 rate=20]]")
    await first.until(lambda m: len(text(m)) > 10)
    second = await client.send(thread, "two [[tokens=10]]")
    before, after = await asyncio.gather(first.to_end(20), second.to_end(20))
    assert before.is_aborted
    assert after.reducer.finish_reason == "stop"
    roles = [message["role"] for message in await client.messages(thread)]
    assert roles == ["user", "assistant", "user", "assistant"]


async def test_a_failing_model_ends_the_stream_in_words(client: TurnClient) -> None:
    watch = await client.send(await client.thread(), "no [[status=401]]")
    message = await watch.to_end(20)
    assert message.error
    assert message.shown["metadata"]["retinue"]["status"] == "failed"


@pytest.mark.timeout(180)
async def test_a_killed_gateway_costs_no_stream_a_byte(client: TurnClient, whole: Stack) -> None:
    """A hundred streams; the gateway is killed; every client resumes and ends with what is kept."""
    threads = await asyncio.gather(*(client.thread() for _ in range(STREAMS)))
    begun = (client.send(thread, f"stream {n} [[tokens=120 rate=10]]") for n, thread in enumerate(threads))
    watches = await asyncio.gather(*begun)
    await asyncio.gather(*(watch.until(lambda m: len(text(m)) > 40) for watch in watches))
    before = whole.process_of("gateway-1")["pid"]
    os.kill(before, signal.SIGKILL)
    await asyncio.gather(*(watch.to_end(90) for watch in watches))
    assert await asyncio.to_thread(eventually, lambda: whole.process_of("gateway-1")["pid"] != before)
    for watch in watches:
        kept = (await client.messages(watch.thread_id))[-1]
        assert parts(watch.message.shown) == parts(kept)
        assert watch.message.reducer.finish_reason == "stop"
        assert watch.restarts == 0
    assert sum(watch.connections >= 2 for watch in watches) > STREAMS // 2
