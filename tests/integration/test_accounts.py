"""Accounts on the real servers: register, sign in, stay signed in, sign out."""

import secrets

import pytest

from tests.kit.gateway import PASSWORD, gateway_on, person_at


@pytest.fixture(scope="module")
def gateway(servers):
    with gateway_on(servers) as running:
        yield running


def test_register_signs_in_and_brings_an_agent(gateway):
    person = person_at(gateway)
    me = person.browser.get("/api/me").json()
    assert me["user"]["username"] == person.username
    assert me["via"] == "session"
    agents = person.browser.get("/api/agents").json()["items"]
    assert [agent["is_default"] for agent in agents] == [True]


def test_the_cookie_is_out_of_reach_of_scripts(gateway):
    answer = gateway.client().post(
        "/api/auth/register", json={"username": f"c-{secrets.token_hex(6)}", "password": PASSWORD}
    )
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("retinue_session=")
    for attribute in ("HttpOnly", "SameSite=lax", "Path=/", f"Max-Age={30 * 86400}"):
        assert attribute in cookie
    assert "Secure" not in cookie


def test_login_and_logout(gateway):
    person = person_at(gateway)
    again = gateway.client()
    answer = again.post("/api/auth/login", json={"username": person.username.upper(), "password": PASSWORD})
    assert answer.status_code == 200
    assert answer.json()["user"]["id"] == person.id
    assert again.get("/api/me").status_code == 200
    cookie = again.cookies["retinue_session"]
    assert again.post("/api/auth/logout").status_code == 204
    assert again.get("/api/me").status_code == 401
    kept = gateway.client(cookie=f"retinue_session={cookie}")
    assert kept.get("/api/me").status_code == 401
    assert person.browser.get("/api/me").status_code == 200  # the other session goes on


def test_threads_are_made_listed_renamed_and_put_away(gateway):
    person = person_at(gateway)
    first = person.browser.post("/api/threads", json={}).json()
    second = person.program.post("/api/threads", json={"title": "Second"}).json()
    assert [t["id"] for t in person.browser.get("/api/threads").json()["items"]] == [second["id"], first["id"]]
    page = person.browser.get("/api/threads", params={"limit": 1}).json()
    rest = person.browser.get("/api/threads", params={"limit": 1, "before": page["next_cursor"]}).json()
    assert [t["id"] for t in page["items"] + rest["items"]] == [second["id"], first["id"]]
    assert rest["next_cursor"] is None
    renamed = person.browser.patch(f"/api/threads/{first['id']}", json={"title": "First"})
    assert renamed.json()["title"] == "First"
    assert person.browser.delete(f"/api/threads/{second['id']}").status_code == 204
    assert [t["id"] for t in person.browser.get("/api/threads").json()["items"]] == [first["id"]]
    assert person.browser.get("/api/threads", params={"archived": True}).json()["items"][0]["id"] == second["id"]
    back = person.browser.patch(f"/api/threads/{second['id']}", json={"archived": False})
    assert back.json()["archived"] is False
    empty = person.browser.get(f"/api/threads/{first['id']}/messages")
    assert empty.json() == {"items": [], "next_cursor": None}
