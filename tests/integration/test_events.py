"""Open pages hear that something of their user changed: whoever changed it, at whichever gateway they listen."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from tests.kit.events import event_page
from tests.kit.gateway import Gateway, Person, gateway_on, person_at
from tests.kit.stack import Servers

QUIET = {"prefer": "respond-async"}


@pytest.fixture(scope="module")
def elsewhere(servers: Servers) -> Iterator[Gateway]:
    """Another gateway on the same servers."""
    settings = {"RETINUE_EVENTS_PER_USER": "2", "RETINUE_STREAM_HEARTBEAT": "0.2", "RETINUE_STREAM_DRAIN": "30"}
    with gateway_on(servers, settings) as running:
        yield running


@pytest.fixture
def ada(gateway: Gateway) -> Person:
    return person_at(gateway)


@pytest.fixture
def bob(gateway: Gateway) -> Person:
    return person_at(gateway)


def post(person: Person, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = person.program.post(path, json=body, headers=QUIET)
    assert answer.status_code < 300, answer.text
    return answer.json()


async def test_a_turn_is_followed_at_two_gateways_and_by_nobody_else(
    gateway: Gateway, elsewhere: Gateway, runner: Any, ada: Person, bob: Person
) -> None:
    async with (
        event_page(gateway.url, ada.token) as here,
        event_page(elsewhere.url, ada.token) as there,
        event_page(elsewhere.url, bob.token) as others,
    ):
        thread = (await asyncio.to_thread(post, ada, "/api/threads", {}))["id"]
        path = f"/api/threads/{thread}/turn"
        first = (await asyncio.to_thread(post, ada, path, {"message": "[[tokens=40 rate=20]]"}))["turn"]
        for page in (here, there):
            await page.until("turn", turn_id=first, thread_id=thread, status="running")
        second = await asyncio.to_thread(post, ada, path, {"message": "hello", "busy": "queue"})
        assert second["status"] == "waiting"
        for page in (here, there):
            await page.until("thread", thread_id=thread)
            await page.until("turn", turn_id=second["turn"], status="finished")
            assert page.statuses(first) == ["queued", "running", "finished"]
            assert page.statuses(second["turn"]) == ["waiting", "queued", "running", "finished"]
        assert others.told == [("sync", {})], "what is Ada's is nobody else's"


async def test_what_a_person_changes_is_heard(gateway: Gateway, elsewhere: Gateway, ada: Person) -> None:
    thread = post(ada, "/api/threads", {})["id"]
    async with event_page(elsewhere.url, ada.token) as page:
        for count, change in enumerate(({"title": "Other"}, {"archived": True}, {"archived": False}), 1):
            await asyncio.to_thread(ada.program.patch, f"/api/threads/{thread}", json=change)
            await page.until("thread", count, thread_id=thread)
        await asyncio.to_thread(post, ada, "/api/agents", {"name": "Grace"})
        await page.until("agents")


async def test_a_user_has_so_many_pages_and_no_more(elsewhere: Gateway, ada: Person, bob: Person) -> None:
    async with AsyncExitStack() as pages:
        for _ in range(2):
            await pages.enter_async_context(event_page(elsewhere.url, ada.token))
        headers = {"authorization": f"Bearer {ada.token}"}
        refused = await asyncio.to_thread(httpx.get, f"{elsewhere.url}/api/events", headers=headers)
        assert (refused.status_code, refused.json()["limit"]) == (429, 2)
        assert refused.headers["retry-after"]
        await pages.enter_async_context(event_page(elsewhere.url, bob.token))


def test_nobody_listens_without_signing_in(gateway: Gateway) -> None:
    assert httpx.get(f"{gateway.url}/api/events").status_code == 401


async def test_a_gateway_that_stops_lets_its_pages_go_at_once(elsewhere: Gateway, ada: Person) -> None:
    """The last one here: it takes the other gateway away."""
    async with event_page(elsewhere.url, ada.token) as page:
        elsewhere.process.terminate()
        async with asyncio.timeout(8):
            await page.ended.wait()
    assert await asyncio.to_thread(elsewhere.process.wait, 10) == 0
