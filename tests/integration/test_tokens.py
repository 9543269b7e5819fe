"""API tokens: shown once, bounded by scopes, revoked at once."""

import pytest

from tests.kit.gateway import person_at


@pytest.fixture(scope="module")
def person(gateway):
    return person_at(gateway)


def mint(client, **wish):
    return client.post("/api/tokens", json={"name": "test", **wish})


def holder(gateway, answer):
    return gateway.client(authorization=f"Bearer {answer.json()['token']}")


def test_a_token_is_shown_once(person):
    made = mint(person.browser).json()
    assert made["token"].startswith("ret_")
    assert made["scopes"] == ["chat", "read", "mcp"]
    listed = person.browser.get("/api/tokens")
    assert made["id"] in [token["id"] for token in listed.json()["items"]]
    assert made["token"] not in listed.text
    assert person.token not in listed.text


def test_a_route_needs_its_scope(gateway, person):
    reader = holder(gateway, mint(person.browser, scopes=["read"]))
    assert reader.get("/api/threads").status_code == 200
    refused = reader.post("/api/threads", json={})
    assert (refused.status_code, refused.json()["error"]) == (403, "scope_missing")
    assert refused.json()["scopes"] == ["chat"]
    chatter = holder(gateway, mint(person.browser, scopes=["chat"]))
    assert chatter.post("/api/threads", json={}).status_code == 201
    assert chatter.get("/api/threads").status_code == 403
    assert chatter.get("/api/me").json()["scopes"] == ["chat"]


def test_a_token_makes_no_token_that_can_do_more(gateway, person):
    chatter = holder(gateway, mint(person.browser, scopes=["chat"]))
    assert mint(chatter).json()["scopes"] == ["chat"]
    for beyond in (["read"], ["chat", "approve"], ["admin"]):
        refused = mint(chatter, scopes=beyond)
        assert (refused.status_code, refused.json()["error"]) == (403, "scope_missing")
    reader = holder(gateway, mint(person.browser, scopes=["read"]))
    assert mint(reader, scopes=["read"]).status_code == 403


def test_admin_is_for_admins_and_approve_is_asked_for(gateway, person):
    assert mint(person.browser, scopes=["admin"]).status_code == 403
    assert mint(person.browser, scopes=["approve", "read"]).json()["scopes"] == ["approve", "read"]
    for wrong in ([], ["everything"], "read", ["read"] * 6, None, [None]):
        answer = mint(person.browser, scopes=wrong)
        assert answer.status_code == (201 if wrong is None else 422)


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, None, 5])
def test_a_token_has_a_name(person, name):
    assert person.browser.post("/api/tokens", json={"name": name}).status_code == 422


def test_a_revoked_token_opens_nothing(gateway, person):
    made = mint(person.browser)
    program = holder(gateway, made)
    assert program.get("/api/me").status_code == 200
    assert person.browser.delete(f"/api/tokens/{made.json()['id']}").status_code == 204
    assert program.get("/api/me").status_code == 401
    assert person.browser.delete(f"/api/tokens/{made.json()['id']}").status_code == 404


def test_a_token_does_not_log_out(person):
    assert person.program.post("/api/auth/logout").status_code == 403
    assert person.program.get("/api/me").json()["via"] == "token"


def test_a_wrong_token_is_not_covered_up_by_a_cookie(person):
    answer = person.browser.get("/api/me", headers={"authorization": "Bearer ret_nothing"})
    assert answer.status_code == 401


def test_there_are_not_endlessly_many(gateway):
    person = person_at(gateway)
    answers = [mint(person.browser).status_code for _ in range(100)]
    assert answers == [201] * 99 + [409]
