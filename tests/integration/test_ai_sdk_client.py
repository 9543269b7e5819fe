"""An unmodified AI SDK client, versions 6 and 7, against the real stack: it streams, resumes, shares and stops."""

import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.kit.model import ScriptedModel
from tests.kit.sdk_client import Page, SdkClients
from tests.kit.stack import Stack, data_folder, start_stack

STOP_SECONDS = 0.3

pytestmark = [pytest.mark.parametrize("sdk", ["6", "7"]), pytest.mark.timeout(180)]


@dataclass
class Person:
    """A registered user with a token; `http` speaks as they do."""

    base: str
    token: str
    http: httpx.AsyncClient

    async def thread(self) -> str:
        answer = await self.http.post("/api/threads", json={})
        answer.raise_for_status()
        return answer.json()["id"]

    async def messages(self, thread: str) -> list[dict[str, Any]]:
        answer = await self.http.get(f"/api/threads/{thread}/messages")
        answer.raise_for_status()
        return answer.json()["items"]


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel.started() as running:
        yield running


@pytest.fixture(scope="module")
def scripted_stack(model: ScriptedModel) -> Iterator[Stack]:
    env = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "test", "RETINUE_MODEL": "openai/scripted"}
    with data_folder() as data_dir:
        running = start_stack(data_dir, env)
        yield running
        running.stop()


@pytest.fixture(scope="module")
async def clients() -> AsyncIterator[SdkClients]:
    async with SdkClients() as running:
        yield running


async def registered(base: str) -> Person:
    name = f"user{uuid.uuid4().hex[:12]}"
    async with httpx.AsyncClient(base_url=base, headers={"origin": base}, trust_env=False) as browser:
        (await browser.post("/api/auth/register", json={"username": name, "password": f"{name}!"})).raise_for_status()
        answer = await browser.post("/api/tokens", json={"name": "sdk"})
        answer.raise_for_status()
    token = answer.json()["token"]
    headers = {"authorization": f"Bearer {token}"}
    return Person(base, token, httpx.AsyncClient(base_url=base, headers=headers, trust_env=False))


@pytest.fixture(scope="module")
async def person(scripted_stack: Stack) -> AsyncIterator[Person]:
    person = await registered(scripted_stack.url)
    async with person.http:
        yield person


async def opened(clients: SdkClients, sdk: str, person: Person, chat: str, messages: Any = None) -> Page:
    return await clients.open(sdk, person.base, chat=chat, token=person.token, messages=messages)


def shown(message: dict[str, Any]) -> dict[str, Any]:
    """What a window shows of a message; metadata may know more once a turn has ended."""
    return {"id": message["id"], "role": message["role"], "parts": message["parts"]}


async def test_what_streamed_is_what_the_model_said_and_what_is_kept(
    sdk: str, clients: SdkClients, person: Person, model: ScriptedModel
):
    thread, said = await person.thread(), f"[[tokens=30 rate=60]] {uuid.uuid4()}"
    page = await opened(clients, sdk, person, thread)
    await page.send(said)
    state = await page.wait(status="ready", seconds=30)
    (served,) = await model.wait(ended=1, user=said[-36:])
    assert state.error is None
    assert state.text == served["text"] != ""
    assert [shown(message) for message in await person.messages(thread)] == [shown(m) for m in state.messages]


async def test_a_reload_in_mid_answer_resumes_from_the_first_chunk_and_two_windows_show_the_same(
    sdk: str, clients: SdkClients, person: Person, model: ScriptedModel
):
    chat, said = f"chat-{uuid.uuid4()}", f"[[tokens=80 rate=20]] {uuid.uuid4()}"
    first = await opened(clients, sdk, person, chat)
    await first.send(said)
    beginning = await first.wait(status="streaming", text=" ", seconds=30)

    second = await opened(clients, sdk, person, chat, beginning.messages[:1])
    await second.resume()
    resumed = await second.wait(status="streaming", text=" ")
    assert resumed.text.startswith(beginning.text)
    await first.close()  # a disconnect is not a stop
    reloaded = await opened(clients, sdk, person, chat, beginning.messages[:1])
    await reloaded.resume()

    ends = [await window.wait(status="ready", seconds=30) for window in (second, reloaded)]
    (served,) = await model.wait(ended=1, user=said[-36:])
    assert served["outcome"] == "finished"
    assert ends[0].text == served["text"]
    assert shown(ends[0].messages[-1]) == shown(ends[1].messages[-1])

    late = await opened(clients, sdk, person, chat, ends[0].messages)
    await late.resume()
    after = await late.wait(status="ready")
    assert (after.error, after.messages) == (None, ends[0].messages)  # nothing to resume: 204


async def test_a_stop_closes_the_models_connection_and_every_window_ends(
    sdk: str, clients: SdkClients, person: Person, model: ScriptedModel
):
    thread, said = await person.thread(), f"[[tokens=2000 rate=20]] {uuid.uuid4()}"
    windows = [await opened(clients, sdk, person, thread)]
    await windows[0].send(said)
    begun = await windows[0].wait(status="streaming", text=" ", seconds=30)
    windows.append(await opened(clients, sdk, person, thread, begun.messages[:1]))
    await windows[1].resume()
    await windows[1].wait(status="streaming", text=" ")

    asked_ns = time.monotonic_ns()
    assert (await windows[0].stop())["status"] < 300
    (served,) = await model.wait(ended=1, user=said[-36:], seconds=10)
    assert served["outcome"] == "cancelled"
    assert (served["ended_ns"] - asked_ns) / 1e9 < STOP_SECONDS
    ends = [await window.wait(status="ready") for window in windows]
    assert shown(ends[0].messages[-1]) == shown(ends[1].messages[-1])
    assert all(part.get("state") != "streaming" for part in ends[0].messages[-1]["parts"])  # no cursor for ever
    assert served["text"].startswith(ends[0].text.rstrip())
    assert shown((await person.messages(thread))[-1]) == shown(ends[0].messages[-1])
    assert (await windows[0].stop())["status"] < 300  # again: nothing happens

    await windows[0].send(f"[[tokens=5]] {uuid.uuid4()}")
    assert (await windows[0].wait(status="ready", text=" ", seconds=30)).error is None


async def test_a_foreign_chat_id_is_simply_a_new_one(sdk: str, clients: SdkClients, person: Person):
    chat = f"chat-{uuid.uuid4()}"
    page = await opened(clients, sdk, person, chat)
    await page.send("[[tokens=200 rate=20]] mine")
    await page.wait(status="streaming", text=" ", seconds=30)
    stranger = await registered(person.base)
    async with stranger.http:
        looking = await opened(clients, sdk, stranger, chat)
        await looking.resume()
        seen = await looking.wait(status="ready")
        assert (seen.error, seen.messages) == (None, [])
        await looking.stop()
        await looking.send("[[tokens=3]] theirs")
        theirs = await looking.wait(status="ready", text=" ", seconds=30)
    assert (await page.state()).status == "streaming"
    assert theirs.messages[-1]["id"] != (await page.state()).messages[-1]["id"]
    await page.stop()
    await page.wait(status="ready")


async def test_an_unknown_token_is_told_so(sdk: str, clients: SdkClients, person: Person):
    page = await clients.open(sdk, person.base, chat="c", token="rtn_nobody")
    await page.send("Hello")
    state = await page.wait(status="error")
    assert state.error
    assert "unauthorized" in state.error.lower() or "sign" in state.error.lower()
