"""Threads over HTTP: what answers in them, deleting with undo, taking for good, and opening one in its middle."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from contracts.ids import uuid7
from store import Store
from store.filling import Said, fill, make_threads
from store.system import threads
from tests.kit.gateway import Gateway, Person, person_at
from tests.kit.stack import Servers

QUIET = {"prefer": "respond-async"}


@pytest.fixture(scope="module")
def person(gateway: Gateway) -> Person:
    return person_at(gateway)


@pytest.fixture
async def store(servers: Servers) -> AsyncIterator[Store]:
    """The gateway's, and as its own."""
    opened = Store(servers.role_url("gateway"), servers.role_url("gateway_system"), pool_size=2)
    yield opened
    await opened.dispose()


def made(person: Person, **wish: Any) -> str:
    answer = person.program.post("/api/threads", json=wish)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def listed(person: Person, **query: Any) -> list[str]:
    return [thread["id"] for thread in person.program.get("/api/threads", params=query).json()["items"]]


def test_what_answers_in_a_thread_is_chosen_and_given_back(person: Person) -> None:
    thread = made(person, model="openai/gpt-5-mini", effort="low")
    path = f"/api/threads/{thread}"
    shown = person.program.get(path).json()
    assert (shown["model"], shown["effort"], shown["deleted"]) == ("openai/gpt-5-mini", "low", False)
    shown = person.program.patch(path, json={"model": "lab/llama", "title": "Llamas"}).json()
    assert (shown["model"], shown["effort"], shown["title"]) == ("lab/llama", "low", "Llamas")
    shown = person.program.patch(path, json={"model": None, "effort": None}).json()
    assert (shown["model"], shown["effort"], shown["title"]) == (None, None, "Llamas")
    for wrong in ({"model": ""}, {"effort": " " * 3}, {"model": "x" * 201}, {"deleted": True}, {"other": 1}):
        assert person.program.patch(path, json=wrong).status_code == 422, wrong


def test_a_deleted_thread_is_nowhere_and_comes_back_as_it_was(gateway: Gateway) -> None:
    person = person_at(gateway)
    kept, gone = made(person), made(person, title="Gone")
    path = f"/api/threads/{gone}"
    for words in ("one", "two"):
        body = {"message": words, "busy": "queue"}
        assert person.program.post(f"{path}/turn", json=body, headers=QUIET).status_code == 202
    assert person.program.patch(path, json={"archived": True}).status_code == 200
    assert person.program.post(f"{path}/turn", json={"message": "back"}, headers=QUIET).status_code == 202
    for _ in range(2):
        assert person.program.delete(path).status_code == 204
    shown = person.program.get(path).json()
    assert (shown["deleted"], shown["status"]) == (True, None), "what ran in it was stopped"
    assert listed(person) == [kept]
    assert listed(person, archived=True) == []
    assert listed(person, deleted=True) == [gone]
    refused = person.program.post(f"{path}/turn", json={"message": "anybody?"}, headers=QUIET)
    assert refused.status_code == 404
    assert person.program.patch(path, json={"title": "Other"}).status_code == 404
    back = person.program.patch(path, json={"deleted": False}).json()
    assert (back["deleted"], back["archived"], back["title"]) == (False, False, "Gone")
    assert listed(person) == [gone, kept]
    assert len(person.program.get(f"{path}/messages").json()["items"]) == 6


def test_threads_of_one_agent(person: Person) -> None:
    agent = person.program.post("/api/agents", json={"name": "Grace"}).json()["id"]
    thread, other = made(person, agent_id=agent), made(person)
    assert listed(person, agent_id=agent) == [thread]
    assert other in listed(person)
    assert person.program.get("/api/threads", params={"agent_id": str(uuid7())}).status_code == 404


async def test_deleted_threads_go_for_good_when_their_time_is_over(
    person: Person, store: Store, servers: Servers
) -> None:
    user = UUID(person.id)
    old, young, busy, kept = await make_threads(servers.superuser_url, user, 4)
    await fill(servers.superuser_url, [Said(thread, n, f"word {n}") for thread in (old, young) for n in range(4)])
    sent = await asyncio.to_thread(
        person.program.post, f"/api/threads/{busy}/turn", json={"message": "hi"}, headers=QUIET
    )
    assert sent.status_code == 202
    async with store.session(user) as session:
        ago = "update threads set deleted_at = now() - make_interval(days => :days) where id = any(:threads)"
        await session.execute(text(ago), {"days": 31, "threads": [old, busy]})
        await session.execute(text(ago), {"days": 29, "threads": [young]})
    async with store.system() as session:
        assert await threads.purge_deleted(session, 30 * 86400.0) >= 1
    async with store.session(user) as session:
        left = await session.execute(
            text("select id from threads where id = any(:all)"), {"all": [old, young, busy, kept]}
        )
        assert {row.id for row in left} == {young, busy, kept}, "one that is still answered waits"
        count = "select count(*) from messages where thread_id = :thread"
        assert await session.scalar(text(count), {"thread": old}) == 0
        assert await session.scalar(text(count), {"thread": young}) == 4


@pytest.fixture(scope="module")
async def long(servers: Servers, person: Person) -> tuple[str, list[str]]:
    """A thread of 500 messages, and their ids."""
    (thread,) = await make_threads(servers.superuser_url, UUID(person.id), 1)
    ids = await fill(servers.superuser_url, [Said(thread, n, f"number {n}") for n in range(500)])
    return str(thread), [str(id) for id in ids]


def page(person: Person, thread: str, **query: Any) -> Any:
    answer = person.program.get(f"/api/threads/{thread}/messages", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids_of(shown: Any) -> list[str]:
    return [message["id"] for message in shown["items"]]


def test_a_thread_is_opened_around_a_message_and_read_on_both_ways(person: Person, long: tuple[str, list[str]]) -> None:
    thread, ids = long
    middle = page(person, thread, around=ids[250], limit=20)
    assert ids_of(middle) == ids[241:261]
    older = page(person, thread, before=middle["next_cursor"], limit=20)
    assert ids_of(older) == ids[221:241]
    newer = page(person, thread, after=middle["newer_cursor"], limit=20)
    assert ids_of(newer) == ids[261:281]
    assert ids_of(page(person, thread, before=newer["next_cursor"], limit=5)) == ids[256:261]
    last = page(person, thread, after=newer["newer_cursor"], limit=200)
    while last["newer_cursor"] is not None:
        last = page(person, thread, after=last["newer_cursor"], limit=200)
    assert ids_of(last)[-1] == ids[-1]


@pytest.mark.parametrize(("at", "expected"), [(0, range(11)), (499, range(489, 500)), (3, range(14))])
def test_around_the_ends_there_is_less(person: Person, long: tuple[str, list[str]], at: int, expected: range) -> None:
    thread, ids = long
    shown = page(person, thread, around=ids[at], limit=21)
    assert ids_of(shown) == [ids[n] for n in expected]
    assert (shown["next_cursor"] is None) == (expected.start == 0)
    assert (shown["newer_cursor"] is None) == (expected.stop == 500)


def test_a_message_is_found_by_the_id_that_its_client_gave_it(person: Person) -> None:
    thread = made(person)
    message = {"id": "client-made", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    sent = person.program.post(f"/api/threads/{thread}/turn", json={"message": message}, headers=QUIET)
    assert sent.status_code == 202
    assert ids_of(page(person, thread, around="client-made"))[0] == "client-made"
    assert ids_of(page(person, thread, around=sent.json()["message"]))[1] == sent.json()["message"]


def test_what_is_no_place_in_a_thread_is_refused(person: Person, long: tuple[str, list[str]]) -> None:
    thread, ids = long
    path = f"/api/threads/{thread}/messages"
    for nowhere in (str(uuid7()), "nobody", "x" * 200, "%00", "'; drop"):
        assert person.program.get(path, params={"around": nowhere}).status_code == 404, nowhere
    for wrong in ({"around": "x" * 201}, {"after": "nonsense"}, {"around": ids[3], "before": "AQAAAAA"}):
        assert person.program.get(path, params=wrong).status_code == 422, wrong
