"""What is too large is delivered or refused clearly, never silence; and whoever else is there does not notice."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from nats.aio.client import Client
from sqlalchemy import text

from bus.connection import connect
from bus.publish import AckedPublisher, publish_stored
from cli.bench.batches import Message
from cli.bench.client import TurnClient, Watch
from contracts.ids import uuid7
from contracts.sizes import MESSAGE_LIMIT, MessageTooLarge
from store import Store, outbox
from store.outbox import OutboxMessage
from tests.kit.gateway import Gateway, Person, gateway_on, person_at
from tests.kit.pouring_runner import poured, pouring_runner
from tests.kit.stack import Servers
from tests.kit.waiting import awaited
from tests.kit.wide_model import said, wide_model

MIB = 1 << 20
ENOUGH = 60.0


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[str]:
    async with wide_model() as url:
        yield url


@pytest.fixture(scope="module")
def gateway(servers: Servers) -> Iterator[Gateway]:
    with gateway_on(servers, {"RETINUE_TURNS_PER_USER": "100"}) as running:
        yield running


@pytest.fixture(scope="module")
def runner(servers: Servers, model: str) -> Iterator[subprocess.Popen[bytes]]:
    settings = {
        "OPENAI_BASE_URL": model,
        "RETINUE_MODEL": "openai/wide",
        "RETINUE_TURNS_PER_USER": "100",
        "RETINUE_BLOB_BYTES": str(60 * MIB),
    }
    with pouring_runner(servers, settings) as process:
        yield process


@pytest.fixture(scope="module")
def person(gateway: Gateway) -> Person:
    return person_at(gateway)


@pytest.fixture
async def client(gateway: Gateway, person: Person, runner: object) -> AsyncIterator[TurnClient]:
    async with TurnClient(gateway.url, person.token) as client:
        yield client


async def ask(client: TurnClient, **wish: Any) -> tuple[Watch, Message]:
    watch = await client.send(await client.thread(), json.dumps(wish))
    return watch, await asyncio.wait_for(watch.to_end(), ENOUGH)


async def stored(client: TurnClient, watch: Watch) -> dict[str, Any]:
    return (await client.messages(watch.thread_id))[-1]


def text_of(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def facts(message: dict[str, Any]) -> dict[str, Any]:
    return message["metadata"]["retinue"]


def part_of_tool(message: dict[str, Any]) -> dict[str, Any]:
    (part,) = [part for part in message["parts"] if part["type"] == "tool-pour"]
    return part


def peak_memory(process: subprocess.Popen[bytes]) -> int:
    """Bytes that the process has held at most."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


@pytest.mark.parametrize(("deltas", "size"), [(1000, 1000), (1, 1_000_000), (10, 100_000)], ids=str)
async def test_a_million_characters_are_streamed_stored_and_read_again(
    client: TurnClient, deltas: int, size: int
) -> None:
    watch, message = await ask(client, deltas=deltas, size=size)
    whole = "".join(said(number, size) for number in range(deltas))
    assert len(whole) == 1_000_000
    assert facts(message.shown)["status"] == "finished"
    assert text_of(message.shown) == whole
    assert text_of(await stored(client, watch)) == whole
    replay = await asyncio.wait_for(client.watch(watch.thread_id, watch.turn_id).to_end(), ENOUGH)
    assert text_of(replay.shown) == whole


async def test_what_a_provider_says_faster_than_batches_go_out_is_delivered_whole(client: TurnClient) -> None:
    watch, message = await ask(client, deltas=15, size=1_000_000)
    whole = "".join(said(number, 1_000_000) for number in range(15))
    assert facts(message.shown)["status"] == "finished"
    assert text_of(message.shown) == whole
    assert text_of(await stored(client, watch)) == whole


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
async def test_forty_megabytes_of_a_tool_are_shown_in_part_and_saved_whole(
    client: TurnClient, person: Person, as_json: bool
) -> None:
    watch, message = await ask(client, tool="pour", input={"bytes": 40 * MIB, "as_json": as_json})
    assert facts(message.shown)["status"] == "finished"
    output = part_of_tool(message.shown)["output"]
    assert len(json.dumps(output, ensure_ascii=False, separators=(",", ":")).encode()) <= 256 * 1024
    assert part_of_tool(await stored(client, watch))["output"] == output
    whole = poured(40 * MIB, as_json=as_json)
    content = whole.encode() if isinstance(whole, str) else None
    left_out = output["left_out"]
    answer = await asyncio.to_thread(person.browser.get, f"/api/blobs/{left_out['blob']}")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert len(answer.content) == left_out["of"] == left_out["bytes"] + len(output["text"].encode())
    assert left_out["of"] > 39 * MIB
    if content is None:
        assert json.loads(answer.content) == whole
    else:
        assert answer.content == content
    assert answer.content.decode().startswith(output["text"])


async def test_more_than_can_be_kept_is_refused_in_words_and_the_turn_goes_on(client: TurnClient) -> None:
    _, message = await ask(client, tool="pour", input={"bytes": 70 * MIB})
    part = part_of_tool(message.shown)
    assert "pour ran, but its output of 73," in part["errorText"]
    assert f"more than the {60 * MIB:,} that can be kept" in part["errorText"]
    assert facts(message.shown)["status"] == "finished"


async def test_two_megabytes_of_arguments_are_refused_in_words_and_the_turn_goes_on(client: TurnClient) -> None:
    _, message = await ask(client, tool="pour", pieces=20, size=100_000)
    part = part_of_tool(message.shown)
    assert "The arguments are 2,000,011 bytes; a tool takes at most 1,048,576." in part["errorText"]
    assert facts(message.shown)["status"] == "finished"


async def test_thirty_three_megabytes_of_arguments_end_the_turn_in_words(client: TurnClient) -> None:
    watch, message = await ask(client, tool="pour", pieces=33, size=1_000_000)
    for shown in (message.shown, await stored(client, watch)):
        assert (facts(shown)["status"], facts(shown)["ended_by"]) == ("failed", "too_large")
        assert "too large" in facts(shown)["error"]["message"]


async def test_an_event_of_thirty_three_megabytes_ends_the_turn_in_words(client: TurnClient) -> None:
    begun = time.monotonic()
    watch, message = await ask(client, before="It begins. ", event=33_000_000)
    assert time.monotonic() - begun < 20
    for shown in (message.shown, await stored(client, watch)):
        assert (facts(shown)["status"], facts(shown)["ended_by"]) == ("failed", "too_large")
        assert "a piece of more than 8,388,608 bytes" in facts(shown)["error"]["message"]
        assert text_of(shown) == "It begins. "


async def test_an_answer_of_thirty_three_megabytes_in_one_piece_ends_the_turn_in_words(client: TurnClient) -> None:
    _, message = await ask(client, whole=33_000_000)
    assert (facts(message.shown)["status"], facts(message.shown)["ended_by"]) == ("failed", "too_large")


async def test_eight_megabytes_in_one_delta_pass_where_they_fit_into_a_batch(client: TurnClient) -> None:
    watch, message = await ask(client, before="x", event=8_000_000)
    assert facts(message.shown)["status"] == "finished"
    assert text_of(message.shown) == text_of(await stored(client, watch)) == "x" + "y" * 8_000_000


async def test_a_delta_that_fits_into_no_batch_ends_the_turn_in_words(client: TurnClient) -> None:
    """An event that the provider may send, and the broker would not take."""
    watch, message = await ask(client, before="x", event=8_350_000)
    for shown in (message.shown, await stored(client, watch)):
        assert (facts(shown)["status"], facts(shown)["ended_by"]) == ("failed", "too_large")
        assert "bytes, of at most 8,323,072" in facts(shown)["error"]["message"]


async def test_the_others_do_not_notice_forty_megabytes(
    client: TurnClient, runner: subprocess.Popen[bytes], record_property: Any
) -> None:
    """Twenty streams of 20 tokens a second, on the same runner and gateway, while a tool pours four times."""
    pouring = asyncio.Event()
    delays: dict[bool, list[float]] = {True: [], False: []}

    def hear(chunk: dict[str, Any]) -> None:
        if chunk["type"] == "text-delta":
            moment = time.monotonic_ns()
            delays[pouring.is_set()] += [(moment - int(beat)) / 1e6 for beat in chunk["delta"].split()]

    async def listen(thread: str) -> None:
        watch = await client.send(thread, json.dumps({"beats": 2000, "every": 0.05}))
        watch.on_chunk = hear
        await watch.to_end(ENOUGH)

    before = peak_memory(runner)
    threads = [await client.thread() for _ in range(20)]
    listeners = [asyncio.create_task(listen(thread)) for thread in threads]
    await heard(delays[False], 1200)  # three seconds of it, to compare
    pouring.set()
    for as_json in (False, True):
        await ask(client, tool="pour", input={"bytes": 40 * MIB, "as_json": as_json})
    await heard(delays[True], 1200)
    for thread in threads:
        await client.stop(thread)
    await asyncio.gather(*listeners)
    figures = {name: percentile(delays[key], 99) for name, key in (("without", False), ("with", True))}
    grown = (peak_memory(runner) - before) // MIB
    record_property("p99 ms", figures)
    record_property("runner grew by MiB at its peak", grown)
    print(f"\np99 of the others in ms: {figures}; the runner's memory grew by {grown} MiB at its peak")
    assert figures["with"] < 1000
    assert grown < 400


async def heard(delays: list[float], enough: int) -> None:
    async def look() -> bool:
        return len(delays) >= enough

    await awaited(look, ENOUGH, f"{enough} tokens")


def percentile(values: list[float], part: int) -> float:
    return round(sorted(values)[len(values) * part // 100], 1)


async def test_a_fact_of_thirty_three_megabytes_is_refused_before_anything_commits(
    servers: Servers, person: Person
) -> None:
    store = Store(servers.role_url("gateway"), servers.role_url("gateway_system"), pool_size=1)
    owner = await asyncpg.connect(servers.superuser_url)
    thread = uuid7()
    agent = await owner.fetchval("select id from agents where user_id = $1", UUID(person.id))
    small, large = OutboxMessage("fact.x.z", b"{}"), OutboxMessage("fact.x.y", b"x" * 33_000_000)

    async def act() -> None:
        async with store.session(UUID(person.id)) as session:
            await make_thread(session, thread, UUID(person.id), agent)
            await outbox.write(session, [small, large])

    with pytest.raises(MessageTooLarge, match=r"33,000,000 bytes for fact\.x\.y; the limit is 8,323,072"):
        await act()
    assert await owner.fetchval("select count(*) from threads where id = $1", thread) == 0
    assert await owner.fetchval("select count(*) from outbox where id = $1", small.id) == 0
    await owner.close()
    await store.dispose()


async def make_thread(session: Any, thread: UUID, user: UUID, agent: UUID) -> None:
    query = text("insert into threads (id, user_id, agent_id) values (:id, :user, :agent)")
    await session.execute(query, {"id": thread, "user": user, "agent": agent})


async def test_a_message_of_thirty_three_megabytes_is_refused_where_it_is_published(servers: Servers) -> None:
    bus: Client = await connect(servers.nats_url("admin"), "test sizes")
    subject = f"log.{uuid7()}"
    publisher = AckedPublisher(bus)
    await publisher.start()
    for size in (33_000_000, MESSAGE_LIMIT + 1):
        with pytest.raises(MessageTooLarge, match=f"{size:,} bytes for {subject}"):
            await publish_stored(bus, subject, b"x" * size, uuid7())
        with pytest.raises(MessageTooLarge):
            await publisher.publish(subject, b"x" * size, lambda _: None)
    assert bus.is_connected
    assert (await publish_stored(bus, subject, b"x" * MESSAGE_LIMIT, uuid7())).stream == "LOG"
    await bus.close()
