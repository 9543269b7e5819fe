"""Several at once, and several gateways: one name, one use of a code, one truth about who is out."""

import asyncio
import secrets
import time
from collections import Counter
from datetime import timedelta

import httpx
import pytest

from cli.accounts.database import system_session
from store.credentials import digest
from store.system import invites
from tests.kit.gateway import PASSWORD, gateway_on, person_at
from tests.kit.waiting import eventually

CACHE_SECONDS = 0.5


@pytest.fixture(scope="module")
def pair(servers):
    """Two gateways on the same servers."""
    env = {"RETINUE_AUTH_CACHE": str(CACHE_SECONDS), "RETINUE_REGISTRATION": "invite"}
    with gateway_on(servers, env | {"RETINUE_REGISTRATION": "open"}) as first, gateway_on(servers, env) as second:
        yield first, second


async def register_all(wishes):
    """Statuses of registrations made all at once; a wish is (url, body)."""
    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=100)) as client:
        asked = (client.post(f"{url}/api/auth/register", json=body) for url, body in wishes)
        return [answer.status_code for answer in await asyncio.gather(*asked)]


async def test_a_name_is_given_once(pair):
    name = f"race-{secrets.token_hex(6)}"
    first, _ = pair
    spelled = [name, name.upper(), name.title()]
    statuses = await register_all([(first.url, {"username": spelled[n % 3], "password": PASSWORD}) for n in range(9)])
    assert Counter(statuses) == {201: 1, 409: 8}


async def test_a_crowd_is_let_in_whole(pair):
    first, _ = pair
    wishes = [(first.url, {"username": f"crowd-{secrets.token_hex(6)}", "password": PASSWORD}) for _ in range(60)]
    assert Counter(await register_all(wishes)) == {201: 60}


async def test_a_code_is_used_once(servers, pair):
    person_at(pair[0])
    async with system_session(servers.role_url("gateway_system")) as session:
        await invites.create_invite(session, digest("once"), grants_admin=False, lifetime=timedelta(hours=1))
    wishes = [
        (pair[1].url, {"username": f"code-{secrets.token_hex(6)}", "password": PASSWORD, "invite": "once"})
        for _ in range(6)
    ]
    assert Counter(await register_all(wishes)) == {201: 1, 403: 5}


def test_what_ends_at_one_gateway_ends_at_the_other_within_the_cache(pair):
    first, second = pair
    person = person_at(first)
    cookie = person.browser.cookies["retinue_session"]
    elsewhere = second.client(cookie=f"retinue_session={cookie}")
    program = second.client(authorization=f"Bearer {person.token}")
    assert elsewhere.get("/api/me").status_code == program.get("/api/me").status_code == 200
    token = person.browser.get("/api/tokens").json()["items"][0]["id"]
    assert person.browser.delete(f"/api/tokens/{token}").status_code == 204
    assert person.browser.post("/api/auth/logout").status_code == 204
    begun = time.monotonic()
    for client in (elsewhere, program):
        eventually(lambda client=client: client.get("/api/me").status_code == 401, 5, "it is out there too")
    assert time.monotonic() - begun < CACHE_SECONDS + 4  # the cache's time, and that of a busy machine


async def test_a_flood_of_passwords_is_refused_and_harms_nobody_else(servers):
    with gateway_on(servers, {"RETINUE_PASSWORD_QUEUE": "1", "RETINUE_PASSWORD_THREADS": "1"}) as gateway:
        person = person_at(gateway)
        wishes = [(gateway.url, {"username": f"flood-{secrets.token_hex(6)}", "password": PASSWORD}) for _ in range(30)]
        flood = asyncio.create_task(register_all(wishes))
        async with httpx.AsyncClient(headers={"authorization": f"Bearer {person.token}"}, timeout=20) as client:
            assert (await client.get(f"{gateway.url}/api/me")).status_code == 200
        statuses = Counter(await flood)
        assert set(statuses) == {201, 503}
        assert statuses[201] >= 2
