"""Servers that go away under load: every accepted message is answered whole, and what viewers have is what is kept."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from cli.bench.client import TurnClient, Watch
from tests.kit.events import event_page
from tests.kit.gateway import Gateway, person_at
from tests.kit.model import ScriptedModel
from tests.kit.stack import Stack, data_folder, start_stack

STREAMS = 300
AWAY_SECONDS = 10


@dataclass
class Town:
    """A whole stack of our own, whose processes may be hurt, and a person in it."""

    stack: Stack
    model: ScriptedModel
    token: str


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with ScriptedModel.started() as model, data_folder() as data_dir:
        env = {"OPENAI_BASE_URL": model.url, "RETINUE_MODEL": "openai/scripted", "RETINUE_TURNS_PER_USER": "1000"}
        stack = start_stack(data_dir, env)
        try:
            gateway = Gateway(stack.url, None, "")  # type: ignore[arg-type]
            yield Town(stack, model, person_at(gateway).token)
        finally:
            stack.stop()


async def streaming(client: TurnClient, count: int, words: str) -> list[Watch]:
    """So many messages sent, each in a thread of its own, each already speaking."""
    threads = await asyncio.gather(*(client.thread() for _ in range(count)))
    watches = await asyncio.gather(*(client.send(thread, words) for thread in threads))
    await asyncio.gather(*(watch.until(lambda message: bool(text_of(message.shown))) for watch in watches))
    return list(watches)


def text_of(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


async def all_whole(client: TurnClient, watches: list[Watch], words: int) -> None:
    """Everybody's message is finished, complete, and equal to the stored one."""
    await asyncio.gather(*(watch.to_end(90) for watch in watches))
    for watch in watches:
        stored = (await client.messages(watch.thread_id))[-1]
        assert stored["metadata"]["retinue"]["status"] == "finished", stored["metadata"]
        assert len(text_of(stored).split()) == words
        assert watch.message.shown == stored


@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", ["nats", "postgres"])
async def test_a_server_away_for_ten_seconds_under_300_streams(town: Town, server: str) -> None:
    async with TurnClient(town.stack.url, town.token) as client, event_page(town.stack.url, town.token) as page:
        watches = await streaming(client, STREAMS, f"{server}-away [[tokens=100 rate=10]]")
        await asyncio.to_thread(town.stack.hold, server, AWAY_SECONDS)
        await all_whole(client, watches, 100)
        if server == "nats":
            await page.until("sync", 2)  # what was said meanwhile is lost: the page looks again
    served = town.model.served(user=f"{server}-away")
    assert len(served) == STREAMS
    assert {record["outcome"] for record in served} == {"finished"}


@pytest.mark.timeout(180)
async def test_messages_sent_while_a_server_is_away_are_answered_once(town: Town) -> None:
    async with TurnClient(town.stack.url, town.token) as client:
        threads = [await client.thread() for _ in range(20)]
        away = asyncio.create_task(asyncio.to_thread(town.stack.hold, "postgres", 5))
        watches = await asyncio.gather(*(client.send(thread, "meanwhile [[tokens=20]]") for thread in threads))
        await away
        await all_whole(client, list(watches), 20)
        for thread in threads:
            assert [m["role"] for m in await client.messages(thread)] == ["user", "assistant"]
    assert len(town.model.served(user="meanwhile")) == 20


@pytest.mark.timeout(180)
async def test_a_gateway_killed_during_100_streams(town: Town) -> None:
    async with TurnClient(town.stack.url, town.token) as client:
        watches = await streaming(client, 100, "gateway-killed [[tokens=240 rate=20]]")
        os.kill(town.stack.process_of("gateway-1")["pid"], signal.SIGKILL)
        await all_whole(client, watches, 240)
    assert all(watch.connections >= 2 for watch in watches)
    assert len(town.model.served(user="gateway-killed")) == 100


@pytest.mark.timeout(180)
async def test_a_runner_killed_leaves_its_turns_to_the_other(town: Town) -> None:
    async with TurnClient(town.stack.url, town.token) as client:
        watches = await streaming(client, 20, "runner-killed [[tokens=200 rate=20]]")
        os.kill(town.stack.process_of("turn-runner-1")["pid"], signal.SIGKILL)
        await all_whole(client, watches, 200)
    taken_over = sum(watch.message.superseded for watch in watches)
    assert 0 < taken_over < 20, "both had some of them"
    assert len(town.model.served(user="runner-killed")) == 20 + taken_over
