"""Accounts on the real servers: register, sign in, stay signed in, sign out."""

import secrets

import pytest

from tests.kit.gateway import PASSWORD, person_at


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
    put_away = person.browser.patch(f"/api/threads/{second['id']}", json={"archived": True})
    assert put_away.json()["archived"] is True
    assert [t["id"] for t in person.browser.get("/api/threads").json()["items"]] == [first["id"]]
    assert person.browser.get("/api/threads", params={"archived": True}).json()["items"][0]["id"] == second["id"]
    back = person.browser.patch(f"/api/threads/{second['id']}", json={"archived": False})
    assert back.json()["archived"] is False
    empty = person.browser.get(f"/api/threads/{first['id']}/messages")
    assert empty.json() == {"items": [], "next_cursor": None, "newer_cursor": None}


def test_putting_a_thread_away_stops_what_it_had_to_do(gateway):
    person = person_at(gateway)
    thread = person.browser.post("/api/threads", json={}).json()["id"]
    for text in ("one", "two", "three"):
        sent = person.browser.post(
            f"/api/threads/{thread}/turn", json={"message": text, "busy": "queue"}, headers={"prefer": "respond-async"}
        )
        assert sent.status_code == 202
    assert person.browser.get(f"/api/threads/{thread}").json()["status"] in ("queued", "running")
    assert person.browser.patch(f"/api/threads/{thread}", json={"archived": True}).json()["status"] is None
    shown = person.browser.get(f"/api/threads/{thread}/messages").json()["items"]
    answers = [message["metadata"]["retinue"]["status"] for message in shown if message["role"] == "assistant"]
    assert answers == ["stopped"] * 3


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("ab", PASSWORD),
        ("a" * 41, PASSWORD),
        ("a b c", PASSWORD),
        ("_hidden", PASSWORD),
        ("<script>", PASSWORD),
        ("a\u202ebc", PASSWORD),
        ("", PASSWORD),
        ("ada lovelace", PASSWORD),
        ("short-password", "123456789"),
        ("long-password", "x" * 257),
    ],
)
def test_unfit_names_and_passwords_are_refused(gateway, username, password):
    answer = gateway.client().post("/api/auth/register", json={"username": username, "password": password})
    assert answer.status_code == 422
    assert answer.json()["error"] == "invalid"
    assert password not in answer.text or not password


def test_names_that_look_alike_are_one(gateway):
    name = f"Straße-{secrets.token_hex(4)}"
    person = person_at(gateway, name)
    for same in (name.upper(), name.replace("ß", "ss"), f" {name.lower()} ", name.replace("S", "\uff33")):
        again = gateway.client().post("/api/auth/register", json={"username": same, "password": PASSWORD})
        assert (again.status_code, again.json()["error"]) == (409, "username_taken")
        assert (
            gateway.client().post("/api/auth/login", json={"username": same, "password": PASSWORD}).json()["user"]["id"]
            == person.id
        )


def test_a_wrong_password_and_an_unknown_name_look_alike(gateway):
    person = person_at(gateway)

    def answer(username):
        return gateway.client().post("/api/auth/login", json={"username": username, "password": "wrong password"})

    wrong, unknown = answer(person.username), answer(f"nobody-{secrets.token_hex(6)}")
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.json() == unknown.json()
    assert "set-cookie" not in wrong.headers


def test_a_password_is_the_same_however_its_letters_are_composed(gateway):
    name = f"nfd-{secrets.token_hex(6)}"
    composed, decomposed = "p\u00e4ssword long", "pa\u0308ssword long"
    gateway.client().post("/api/auth/register", json={"username": name, "password": composed})
    answer = gateway.client().post("/api/auth/login", json={"username": name, "password": decomposed})
    assert answer.status_code == 200


def test_config_tells_a_page_what_to_ask_for(gateway):
    person_at(gateway)
    config = gateway.client().get("/api/config").json()
    assert config["registration"] == "open"
    assert config["needs_setup"] is False
    assert config["version"]
