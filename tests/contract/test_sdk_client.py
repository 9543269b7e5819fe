"""The SDK client that later tests point at the real gateway, proven here against the least possible server."""

import json
from collections.abc import AsyncIterator

import pytest

from contracts import chunks
from contracts.reducer import Reducer
from tests.contract.chat_server import ChatServer
from tests.kit.sdk_client import SdkClients

FIRST = [
    chunks.start("answer-1"),
    chunks.start_step(),
    chunks.text_start("t"),
    chunks.text_delta("t", "Once\u2028upon "),
]
REST = [chunks.text_delta("t", "a time"), chunks.text_end("t"), chunks.finish_step(), chunks.finish("stop")]

pytestmark = pytest.mark.parametrize("sdk", ["6", "7"])


@pytest.fixture(scope="module")
async def clients() -> AsyncIterator[SdkClients]:
    async with SdkClients() as running:
        yield running


@pytest.fixture
async def server() -> AsyncIterator[ChatServer]:
    async with ChatServer() as running:
        yield running


async def test_two_windows_show_the_same_from_the_first_chunk(sdk: str, clients: SdkClients, server: ChatServer):
    page = await clients.open(sdk, server.base, chat="chat 1", token="secret")
    await page.send("Tell me")
    await page.wait(status="submitted")
    await server.say(*FIRST)
    seen = await page.wait(status="streaming", text="upon ")

    reloaded = await clients.open(sdk, server.base, chat="chat 1", token="secret", messages=seen.messages[:1])
    await reloaded.resume()
    assert (await reloaded.wait(status="streaming", text="upon ")).messages == seen.messages

    await server.say(*REST, end=True)
    ends = [await window.wait(status="ready", text="a time") for window in (page, reloaded)]
    assert ends[0].messages == ends[1].messages
    reducer = Reducer()
    for chunk in [*FIRST, *REST]:
        reducer.apply(chunk)
    assert ends[0].messages[-1] == reducer.message
    assert ends[0].text == "Once\u2028upon a time"

    (method, path, authorization, body), resumed = server.requests
    assert (method, path, authorization) == ("POST", "/api/chat", "Bearer secret")
    assert json.loads(body)["id"] == "chat 1"
    assert json.loads(body)["messages"][0]["parts"] == [{"type": "text", "text": "Tell me"}]
    assert resumed[:3] == ("GET", "/api/chat/chat%201/stream", "Bearer secret")


async def test_a_reload_when_the_page_already_shows_half_of_it_rebuilds_the_message(
    sdk: str, clients: SdkClients, server: ChatServer
):
    page = await clients.open(sdk, server.base, chat="c")
    await page.send("Tell me")
    await server.say(*FIRST)
    seen = await page.wait(text="upon ")
    reloaded = await clients.open(sdk, server.base, chat="c", messages=seen.messages)
    await reloaded.resume()
    await reloaded.wait(status="streaming", text="upon ")
    await server.say(*REST, end=True)
    assert (await reloaded.wait(status="ready", text="a time")).text == "Once\u2028upon a time"


async def test_stop_is_asked_of_the_server_and_closes_the_message(sdk: str, clients: SdkClients, server: ChatServer):
    server.closing = [chunks.text_end("t"), chunks.abort("stopped")]
    page = await clients.open(sdk, server.base, chat="c", token="secret")
    await page.send("Tell me")
    await server.say(*FIRST)
    await page.wait(status="streaming", text="upon ")
    assert await page.stop() == {"status": 204, "body": ""}
    state = await page.wait(status="ready")
    assert state.messages[-1]["parts"][-1]["state"] == "done"
    assert server.requests[-1][:3] == ("POST", "/api/chat/c/stop", "Bearer secret")


async def test_nothing_to_resume_is_no_error(sdk: str, clients: SdkClients, server: ChatServer):
    page = await clients.open(sdk, server.base, chat="c")
    await page.resume()
    state = await page.wait(status="ready")
    assert (state.error, state.messages) == (None, [])


async def test_a_refusal_is_shown_in_the_servers_words(sdk: str, clients: SdkClients, server: ChatServer):
    server.refusal = (409, "busy")
    page = await clients.open(sdk, server.base, chat="c")
    await page.send("Tell me")
    assert (await page.wait(status="error")).error == "busy"


@pytest.mark.parametrize(
    "fatal",
    [
        {"type": "reset-step-2"},
        {"type": "data-x", "data": {"__proto__": 1}},
        {"type": "finish", "finishReason": "tired"},
    ],
    ids=lambda chunk: chunk["type"],
)
async def test_what_our_rules_refuse_is_fatal_to_a_client(
    sdk: str, fatal: chunks.Chunk, clients: SdkClients, server: ChatServer
):
    with pytest.raises(chunks.ChunkError):
        chunks.check(fatal)
    page = await clients.open(sdk, server.base, chat="c")
    await page.send("Tell me")
    await server.say(*FIRST, fatal, *REST, end=True)
    assert (await page.wait(status="error")).text == "Once\u2028upon "
