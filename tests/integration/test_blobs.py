"""Blobs from outside: reached by a reference of one's own, saved and not opened, gone when nobody refers to them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest

from blobs import FolderBlobs, Stored
from chassis.pools import Pool
from contracts.ids import uuid7
from store import Store
from store.repositories import blobs as references
from store.repositories.blobs import BlobRef
from store.system import blobs as rows
from tests.kit.gateway import Gateway, Person, person_at
from tests.kit.stack import Servers
from tests.kit.waiting import awaited
from turn_runner.blob_sweep import sweep

CONTENT = os.urandom(700_001)
DAY = 86400.0


@dataclass
class Keeper:
    """The runner's side: its logins, and the folder that the gateway reads too."""

    store: Store
    blobs: FolderBlobs
    root: Path
    owner: Any

    async def put(self, content: bytes) -> Stored:
        async with self.blobs.incoming() as incoming:
            await incoming.write(content)
            stored = await incoming.finish()
            async with self.store.system() as session:
                await rows.want(session, stored.hash, stored.size)
            await incoming.keep()
        return stored

    async def keep(
        self, person: Person, content: bytes = CONTENT, name: str = "notes.txt", media_type: str = "text/plain"
    ) -> BlobRef:
        stored = await self.put(content)
        ref = BlobRef(uuid7(), stored.hash, stored.size, name, media_type)
        async with self.store.session(UUID(person.id)) as session:
            await references.refer(session, ref, user_id=UUID(person.id))
        return ref

    async def age(self, hash: bytes, seconds: float) -> None:
        await self.owner.execute(
            "update blobs set wanted_at = now() - make_interval(secs => $2) where hash = $1", hash, seconds
        )

    async def sweep(self) -> None:
        await sweep(self.store, self.blobs, DAY)


@pytest.fixture
async def keeper(servers: Servers) -> AsyncIterator[Keeper]:
    store = Store(servers.role_url("turn_runner"), servers.role_url("turn_runner_system"), pool_size=3)
    threads = Pool("blobs-of-test", size=2, queue_limit=64)
    owner = await asyncpg.connect(servers.superuser_url)
    root = servers.data_dir / "blobs"
    yield Keeper(store, FolderBlobs(root, threads), root, owner)
    await owner.close()
    await threads.close()
    await store.dispose()


@pytest.fixture(scope="module")
def ada(gateway: Gateway) -> Person:
    return person_at(gateway)


@pytest.fixture(scope="module")
def bob(gateway: Gateway) -> Person:
    return person_at(gateway)


def get(person: Person, ref: BlobRef, **headers: str) -> httpx.Response:
    return person.program.get(f"/api/blobs/{ref.id}", headers=headers)


async def test_the_owner_of_a_reference_saves_the_file(keeper: Keeper, ada: Person) -> None:
    ref = await keeper.keep(ada)
    for client in (ada.program, ada.browser):
        answer = client.get(f"/api/blobs/{ref.id}")
        assert answer.status_code == 200
        assert answer.content == CONTENT
    assert answer.headers["content-length"] == str(len(CONTENT))
    assert answer.headers["content-type"].startswith("text/plain")


async def test_what_a_file_holds_is_never_a_page_of_ours(keeper: Keeper, ada: Person) -> None:
    page = b"<script>alert(document.cookie)</script>"
    ref = await keeper.keep(ada, page, 'x"\r\nSet-Cookie: a=b; ü.html', "text/html")
    answer = get(ada, ref)
    assert answer.content == page
    disposition = answer.headers["content-disposition"]
    assert disposition.startswith("attachment; ")
    assert 'filename="x_Set-Cookie_a_b_.html"' in disposition
    assert "filename*=UTF-8''x%22%0D%0ASet-Cookie%3A%20a%3Db%3B%20%C3%BC.html" in disposition
    assert "set-cookie" not in answer.headers
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "no-store" in answer.headers["cache-control"]


async def test_nobody_else_finds_it_and_nobody_finds_it_by_its_hash(
    keeper: Keeper, gateway: Gateway, ada: Person, bob: Person
) -> None:
    ref = await keeper.keep(ada)
    unknown = bob.program.get(f"/api/blobs/{uuid7()}")
    foreign = get(bob, ref)
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.json() == unknown.json()
    assert ada.program.get(f"/api/blobs/{ref.hash.hex()}").status_code == 404
    assert gateway.client().get(f"/api/blobs/{ref.id}").status_code == 401
    async with keeper.store.session(UUID(bob.id)) as session:
        assert await references.get(session, ref.id) is None


async def test_nobody_refers_for_another(keeper: Keeper, ada: Person, bob: Person) -> None:
    stored = await keeper.put(b"shared words")
    ref = BlobRef(uuid7(), stored.hash, stored.size, "x", "text/plain")
    with pytest.raises(Exception, match="row-level security"):
        async with keeper.store.session(UUID(bob.id)) as session:
            await references.refer(session, ref, user_id=UUID(ada.id))
    thread = ada.browser.post("/api/threads", json={}).json()["id"]
    with pytest.raises(Exception, match="row-level security"):
        async with keeper.store.session(UUID(bob.id)) as session:
            await references.refer(session, ref, user_id=UUID(bob.id), thread_id=UUID(thread))


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        ("bytes=700000-", 700_000, 700_001),
        ("bytes=-5", 699_996, 700_001),
        ("bytes=0-9999999", 0, 700_001),
        ("bytes=-9999999", 0, 700_001),
    ],
)
async def test_a_part_is_given_on_request(keeper: Keeper, ada: Person, asked: str, start: int, end: int) -> None:
    answer = get(ada, await keeper.keep(ada), range=asked)
    assert answer.status_code == 206
    assert answer.content == CONTENT[start:end]
    assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(CONTENT)}"


@pytest.mark.parametrize("asked", ["bytes=0-1,5-6", "lines=1-2", "bytes=9-3", "bytes=-", "nonsense"])
async def test_a_range_that_is_not_understood_gives_everything(keeper: Keeper, ada: Person, asked: str) -> None:
    answer = get(ada, await keeper.keep(ada), range=asked)
    assert (answer.status_code, len(answer.content)) == (200, len(CONTENT))


@pytest.mark.parametrize("asked", ["bytes=700001-", "bytes=-0"])
async def test_a_range_beyond_the_end_is_refused_with_the_size(keeper: Keeper, ada: Person, asked: str) -> None:
    answer = get(ada, await keeper.keep(ada), range=asked)
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{len(CONTENT)}"
    assert answer.json()["error"] == "range_not_satisfiable"


async def test_an_empty_file_is_one(keeper: Keeper, ada: Person) -> None:
    answer = get(ada, await keeper.keep(ada, b""))
    assert (answer.status_code, answer.content) == (200, b"")


async def test_what_somebody_refers_to_stays_and_what_nobody_does_goes_after_a_day(
    keeper: Keeper, ada: Person, bob: Person
) -> None:
    content = os.urandom(1000)
    hers, his = await keeper.keep(ada, content), await keeper.keep(bob, content)
    left = await keeper.put(os.urandom(1000))
    young = await keeper.put(os.urandom(1000))
    for hash in (hers.hash, left.hash):
        await keeper.age(hash, DAY + 60)
    await keeper.sweep()
    assert get(ada, hers).content == content
    assert await keeper.blobs.size(left.hash) is None
    assert await keeper.blobs.size(young.hash) == 1000

    await keeper.owner.execute("delete from blob_references where id = $1", hers.id)
    await keeper.sweep()
    assert get(ada, hers).status_code == 404
    assert get(bob, his).content == content

    await keeper.owner.execute("delete from blob_references where id = $1", his.id)
    await keeper.sweep()
    assert await keeper.blobs.size(his.hash) is None
    assert await keeper.owner.fetchval("select count(*) from blobs where hash = $1", his.hash) == 0


async def test_a_thread_that_is_deleted_takes_its_references_along(keeper: Keeper, ada: Person) -> None:
    stored = await keeper.put(os.urandom(100))
    thread = UUID(ada.browser.post("/api/threads", json={}).json()["id"])
    ref = BlobRef(uuid7(), stored.hash, stored.size, "x", "text/plain")
    async with keeper.store.session(UUID(ada.id)) as session:
        await references.refer(session, ref, user_id=UUID(ada.id), thread_id=thread)
        await references.refer(session, ref, user_id=UUID(ada.id), thread_id=thread)  # as after a lost reply
    assert get(ada, ref).status_code == 200
    await keeper.owner.execute("delete from threads where id = $1", thread)
    assert get(ada, ref).status_code == 404


async def test_who_wants_a_blob_that_is_being_swept_waits_and_writes_it_anew(keeper: Keeper) -> None:
    """The order of a put is what makes this safe: told to the database first, put in its place after."""
    content = os.urandom(1000)
    stored = await keeper.put(content)
    await keeper.age(stored.hash, DAY + 60)
    async with keeper.store.system() as session:
        assert stored.hash in await rows.drop_unreferenced(session, DAY)
        again = asyncio.create_task(keeper.put(content))
        waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%into blobs%'"
        await awaited(lambda: keeper.owner.fetchval(waiting), 5)
        await keeper.blobs.delete(stored.hash)
    assert await again == stored
    assert await keeper.blobs.size(stored.hash) == 1000
    assert await keeper.owner.fetchval("select count(*) from blobs where hash = $1", stored.hash) == 1
