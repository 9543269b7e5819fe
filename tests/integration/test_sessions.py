"""Sessions slide, end, and leave an expired reader a little time; what ends elsewhere shows within seconds."""

import hashlib

import asyncpg
import pytest

from tests.kit.gateway import PASSWORD, gateway_on, person_at


@pytest.fixture(scope="module")
def gateway(servers):
    with gateway_on(servers, {"RETINUE_AUTH_CACHE": "0"}) as running:
        yield running


@pytest.fixture
def person(gateway):
    return person_at(gateway)


def digest(person):
    return hashlib.sha256(person.browser.cookies["retinue_session"].encode()).digest()


@pytest.fixture
def set_end(servers, person):
    """Move the end of the person's session to so many seconds from now."""

    async def move(seconds):
        connection = await asyncpg.connect(servers.superuser_url)
        query = "update sessions set expires_at = now() + make_interval(secs => $2) where token_hash = $1"
        assert await connection.execute(query, digest(person), seconds) == "UPDATE 1"
        await connection.close()

    return move


@pytest.fixture
def left(servers, person):
    """Days until the person's session ends."""

    async def ask():
        connection = await asyncpg.connect(servers.superuser_url)
        query = "select extract(epoch from expires_at - now()) / 86400 from sessions where token_hash = $1"
        days = await connection.fetchval(query, digest(person))
        await connection.close()
        return float(days)

    return ask


async def test_the_cookie_itself_is_nowhere_in_the_database(servers, person):
    connection = await asyncpg.connect(servers.superuser_url)
    rows = await connection.fetch("select token_hash from sessions union all select token_hash from api_tokens")
    await connection.close()
    kept = [bytes(row["token_hash"]) for row in rows]
    assert digest(person) in kept
    assert person.browser.cookies["retinue_session"].encode() not in kept
    assert person.token.encode() not in kept


async def test_a_session_in_use_does_not_end(person, set_end, left):
    assert "set-cookie" not in person.browser.get("/api/me").headers
    await set_end(60)
    renewed = person.browser.get("/api/me")
    assert renewed.status_code == 200
    assert f"Max-Age={30 * 86400}" in renewed.headers["set-cookie"]
    assert await left() == pytest.approx(30, abs=0.01)


async def test_an_expired_session_is_over(person, set_end, left):
    await set_end(-1)
    for method, path in [("GET", "/api/me"), ("GET", "/api/threads"), ("POST", "/api/threads")]:
        answer = person.browser.request(method, path, json={} if method == "POST" else None)
        assert answer.status_code == 401
    assert await left() < 0


async def test_an_expired_session_may_still_look_for_a_running_stream(person, set_end):
    thread = person.browser.post("/api/threads", json={}).json()["id"]
    await set_end(-1)
    assert person.browser.get(f"/api/threads/{thread}/turn").status_code == 204
    assert person.browser.delete(f"/api/threads/{thread}/turn").status_code == 401
    await set_end(-601)
    assert person.browser.get(f"/api/threads/{thread}/turn").status_code == 401


async def test_an_expired_session_sees_a_running_answer_through_and_replays_none_that_has_ended(person, set_end):
    thread = person.browser.post("/api/threads", json={}).json()["id"]
    url = f"/api/threads/{thread}/turn"
    sent = person.program.post(url, json={"message": "hello"}, headers={"prefer": "respond-async"})
    turn = sent.json()["turn"]
    await set_end(-1)
    for query in ({}, {"turn": turn}):
        with person.browser.stream("GET", url, params=query) as running:
            assert (running.status_code, running.headers["x-retinue-turn"]) == (200, turn)
    assert person.program.delete(url).json()["status"] == "stopped"
    assert person.browser.get(url, params={"turn": turn}).status_code == 401
    assert person.program.get(url, params={"turn": turn}).status_code == 200


async def test_a_disabled_account_is_out(servers, gateway, person):
    connection = await asyncpg.connect(servers.superuser_url)
    await connection.execute("update users set disabled_at = now() where username = $1", person.username)
    await connection.close()
    assert person.browser.get("/api/me").status_code == 401
    assert person.program.get("/api/me").status_code == 401
    answer = gateway.client().post("/api/auth/login", json={"username": person.username, "password": PASSWORD})
    assert (answer.status_code, answer.json()["error"]) == (401, "wrong_credentials")
