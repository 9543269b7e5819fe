"""Searching what was said: found by whoever said it, marked in plain text, whatever is typed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from contracts.ids import uuid7
from store import Store
from store.filling import Said, fill, make_threads
from store.repositories.words import words
from tests.kit.gateway import Gateway, Person, person_at
from tests.kit.stack import Servers
from tests.kit.turns import Database, call

QUIET = {"prefer": "respond-async"}

TEXTS = [
    "Crème brûlée for two, please",
    "Die Größe der Übung ist groß",
    "明日は東京都に行きます",
    "สวัสดีชาวโลก",
    "Ёлка и ёжик",
    "foo/bar_baz(qux) == 3.14",
    "<img src=x onerror=alert(1)> & \"quotes\" 'single' %_\\",
    "👍🏽 ok",
    "ΣΊΣΥΦΟΣ İstanbul ﬁne ＡＢＣ ﷺ e\u0301te\u0301 हिन्दी भाषा 서울특별시 שָׁלוֹם مَرْحَبًا",
    "the end of the story",
    "the story of an end",
]


@pytest.fixture(scope="module")
def ada(gateway: Gateway) -> Person:
    return person_at(gateway)


@pytest.fixture(scope="module")
async def thread(servers: Servers, ada: Person) -> UUID:
    (thread,) = await make_threads(servers.superuser_url, UUID(ada.id), 1)
    await fill(servers.superuser_url, [Said(thread, n, said) for n, said in enumerate(TEXTS)])
    return thread


@pytest.fixture
async def store(servers: Servers) -> AsyncIterator[Store]:
    opened = Store(servers.role_url("gateway"), servers.role_url("gateway_system"), pool_size=2)
    yield opened
    await opened.dispose()


def search(person: Person, q: str, **query: Any) -> Any:
    answer = person.program.get("/api/threads/search", params={"q": q, **query})
    assert answer.status_code == 200, (q, answer.text)
    return answer.json()


def found(person: Person, q: str) -> list[int]:
    """Numbers of the texts, the newest first."""
    shown = [hit["snippet"].lstrip("…") for hit in search(person, q)["items"]]
    return [next(number for number, said in enumerate(TEXTS) if said.endswith(snippet)) for snippet in shown]


@pytest.mark.parametrize(
    ("q", "numbers"),
    [
        ("creme", [0]),
        ("BRÛLÉE crème", [0]),
        ("two for", [0]),
        ("cre", [0]),
        ("cre brulee", []),
        ("creme nowhere", []),
        ("xyzzy", []),
        ("grosse", []),
        ("große", [1]),
        ("ubung", [1]),
        ("東京", [2]),
        ("京東", []),
        ("東", [2]),
        ("ชาวโลก", [3]),
        ("елка ежик", [4]),
        ("bar", [5]),
        ("foo bar baz", [5]),
        ("3.14", [5]),
        ("alert", [6]),
        ("👍", [7]),
        ("σίσυφος", [8]),
        ("istanbul", [8]),
        ("fine abc ete", [8]),
        ("भाषा", [8]),
        ("서울", [8]),
        ("שלום", [8]),
        ("مرحبا", [8]),
        ("end story", [10, 9]),
        ('"the end"', [9]),
        ('"end of the sto', [9]),
        ('"end of the sto"', []),
        ("“story of”", [10]),
    ],
)
def test_words_of_any_language_are_found(ada: Person, thread: UUID, q: str, numbers: list[int]) -> None:
    assert found(ada, q) == numbers


@pytest.mark.parametrize(
    "q",
    [
        "",
        " ",
        "'",
        '"',
        '""""',
        "\\",
        "%00",
        ":*",
        "& | ! <-> ( )",
        "foo & !bar",
        "'; drop table messages; --",
        "%",
        "_",
        "$$",
        "a:*",
        "creme:A",
        "x" * 400,
        "a " * 200,
        '"' * 399,
        "@" + "0" * 30,
        "\ufffe\uffff",
        "\u202e\u200b",
        "é" * 200,
        "東" * 300,
    ],
)
def test_whatever_is_typed_is_no_mistake(ada: Person, thread: UUID, q: str) -> None:
    for hit in search(ada, q)["items"]:
        units = len(hit["snippet"].encode("utf-16-le")) // 2
        assert all(0 <= start < end <= units for start, end in hit["marks"]), hit


def test_what_is_too_long_or_no_cursor_is_refused(ada: Person, thread: UUID) -> None:
    for wrong in ({"q": "x" * 401}, {"q": "x", "before": "nonsense"}, {"q": "x", "limit": 51}, {}):
        assert ada.program.get("/api/threads/search", params=wrong).status_code == 422, wrong


def test_what_is_shown_is_text_with_places(ada: Person, thread: UUID) -> None:
    (hit,) = search(ada, "onerror alert")["items"]
    assert hit["snippet"] == TEXTS[6], "as it was said: whoever shows it makes no HTML of it"
    assert [hit["snippet"][start:end] for start, end in hit["marks"]] == ["onerror", "alert"]
    assert hit["thread"]["id"] == str(thread)
    assert hit["role"] == "user"
    window = ada.program.get(f"/api/threads/{thread}/messages", params={"around": hit["message_id"]}).json()
    assert hit["message_id"] in [message["id"] for message in window["items"]]


def test_pages_follow_each_other(ada: Person, thread: UUID) -> None:
    first = search(ada, "the", limit=1)
    second = search(ada, "the", limit=1, before=first["next_cursor"])
    assert [hit["snippet"] for hit in first["items"] + second["items"]] == [TEXTS[10], TEXTS[9]]
    assert second["next_cursor"] is None


def test_another_s_words_are_never_found(gateway: Gateway, ada: Person, thread: UUID) -> None:
    bob = person_at(gateway)
    assert found(bob, "creme") == []
    own = bob.program.post("/api/threads", json={}).json()["id"]
    said = {"message": {"id": "bobs", "role": "user", "parts": [{"type": "text", "text": "Crème fraîche"}]}}
    assert bob.program.post(f"/api/threads/{own}/turn", json=said, headers=QUIET).status_code == 202
    assert [hit["message_id"] for hit in search(bob, "creme")["items"]] == ["bobs"]
    assert found(ada, "creme") == [0]
    for trick in (ada.id, f"@{ada.id}", f"'@{ada.id}'", ada.id[:8]):
        assert search(bob, trick)["items"] == []


def test_what_is_deleted_is_not_found_until_it_is_back(gateway: Gateway) -> None:
    person = person_at(gateway)
    own = person.program.post("/api/threads", json={}).json()["id"]
    sent = person.program.post(f"/api/threads/{own}/turn", json={"message": "a needle"}, headers=QUIET)
    assert sent.status_code == 202
    assert len(search(person, "needle")["items"]) == 1
    person.program.delete(f"/api/threads/{own}")
    assert search(person, "needle")["items"] == []
    person.program.patch(f"/api/threads/{own}", json={"deleted": False, "archived": True})
    assert search(person, "needle")["items"][0]["thread"]["archived"] is True


async def test_far_back_it_is_the_index_that_finds(servers: Servers, gateway: Gateway, store: Store) -> None:
    """Beyond the newest few hundred: rare words, common ones, phrases, page after page."""
    person, other = person_at(gateway), person_at(gateway)
    (own,) = await make_threads(servers.superuser_url, UUID(person.id), 1)
    (foreign,) = await make_threads(servers.superuser_url, UUID(other.id), 1)
    texts = [f"number {n} " + ("long ago" if n < 300 else "of late") for n in range(1200)]
    texts[5] = "a needle, found long and long ago"
    await fill(servers.superuser_url, [Said(foreign, n, "a needle long ago") for n in range(50)])
    await fill(servers.superuser_url, [Said(own, n, said) for n, said in enumerate(texts)])

    def all_of(q: str) -> list[str]:
        hits, cursor = [], None
        while True:
            shown = search(person, q, limit=50, **({} if cursor is None else {"before": cursor}))
            hits += [hit["snippet"] for hit in shown["items"]]
            if (cursor := shown["next_cursor"]) is None:
                return hits

    assert all_of("needle") == [texts[5]]
    assert await asyncio.to_thread(all_of, "ago") == texts[:300][::-1]
    assert await asyncio.to_thread(all_of, '"long ago"') == texts[:300][::-1]
    assert all_of('"ago long"') == []
    assert all_of('"long and"') == [texts[5]]
    assert await asyncio.to_thread(all_of, "number lat") == texts[300:][::-1]


async def test_words_are_the_same_in_postgres_and_here(store: Store) -> None:
    async with store.session(uuid7()) as session:
        for said in TEXTS:
            folded = await session.scalar(text("select retinue_fold(:said)"), {"said": said})
            assert folded.split() == [word.text for word in words(said)]


async def test_all_that_an_answer_says_is_found_as_one_and_at_most_so_much(servers: Servers) -> None:
    async with Database.opened(servers) as database:
        running = await (await database.person()).running()
        asked = call()
        await running.ask(asked, text="First I look it up")
        await running.finish(asked.id, "found")
        await running.ask(text="lorem " * 30_000 + "beyond")
        look = "select * from message_words where message_id = :m"
        row = await database.row(look, m=running.held.message_id)
        assert row.characters == 100_000
        matches = "select words @@ cast(:q as tsquery) as found from message_words where message_id = :m"
        for q, expected in {"first & lorem": True, "beyond": False}.items():
            assert (await database.row(matches, q=q, m=running.held.message_id)).found is expected
