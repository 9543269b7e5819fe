"""Who is let in from where: Host, Origin, CORS, and the headers that keep a browser from helping an attacker."""

import httpx
import pytest

from gateway.pages import PAGE_POLICY
from tests.kit.gateway import gateway_on, person_at

FRIEND = "https://app.example"


@pytest.fixture(scope="module")
def gateway(servers, tmp_path_factory):
    dist = tmp_path_factory.mktemp("web") / "dist"
    dist.mkdir()
    (dist / "index.html").write_text("<!doctype html><title>Retinue</title>")
    env = {"RETINUE_CORS_ORIGINS": FRIEND, "RETINUE_ALLOWED_HOSTS": "inner.lan", "RETINUE_WEB_DIST": str(dist)}
    with gateway_on(servers, env) as running:
        yield running


@pytest.fixture(scope="module")
def person(gateway):
    return person_at(gateway)


@pytest.mark.parametrize("path", ["/", "/api/config", "/api/me", "/openapi.json", "/t/1", "/nothing"])
def test_a_foreign_host_gets_nothing(gateway, person, path):
    answer = person.browser.get(path, headers={"host": "evil.example"})
    assert (answer.status_code, answer.json()["error"]) == (421, "unknown_host")
    assert "RETINUE_ALLOWED_HOSTS" in answer.json()["message"]


def test_hosts_of_the_allow_list_are_ours(gateway):
    assert gateway.client(host="inner.lan").get("/api/config").status_code == 200


def act(person, **headers):
    """Make a thread with the cookie and these headers, as a page somewhere would."""
    client = httpx.Client(base_url=person.browser.base_url, cookies=person.browser.cookies)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = client.post("/api/threads", json={}, headers=named)
    return answer.status_code, answer.json().get("error")


def test_a_cookie_acts_only_from_our_own_page(gateway, person):
    assert act(person, origin=gateway.url) == (201, None)
    assert act(person, sec_fetch_site="same-origin") == (201, None)
    assert act(person) == (403, "origin_missing")
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", FRIEND):
        assert act(person, origin=origin) == (403, "foreign_origin")
    for site in ("cross-site", "same-site"):
        assert act(person, sec_fetch_site=site) == (403, "foreign_origin")


def test_a_form_of_a_foreign_page_signs_nobody_in(gateway):
    body = {"username": "x", "password": "y"}
    answer = httpx.post(f"{gateway.url}/api/auth/login", json=body, headers={"origin": "https://evil.example"})
    assert (answer.status_code, answer.json()["error"]) == (403, "foreign_origin")


def test_logging_out_needs_our_page_too(gateway, person):
    client = httpx.Client(base_url=gateway.url, cookies=person.browser.cookies)
    assert client.post("/api/auth/logout").status_code == 403
    assert person.browser.get("/api/me").status_code == 200


def test_a_token_needs_no_origin(gateway, person):
    assert person.program.post("/api/threads", json={}).status_code == 201
    answer = person.program.post("/api/threads", json={}, headers={"origin": FRIEND})
    assert answer.status_code == 201
    assert answer.headers["access-control-allow-origin"] == FRIEND
    assert "access-control-allow-credentials" not in answer.headers
    assert "x-request-id" in answer.headers["access-control-expose-headers"]
    assert "Origin" in answer.headers["vary"]


def test_preflights_are_answered_for_the_list_alone(gateway):
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    friend = httpx.options(f"{gateway.url}/api/threads", headers={"origin": FRIEND, **asked})
    assert friend.status_code == 204
    assert friend.headers["access-control-allow-origin"] == FRIEND
    assert "authorization" in friend.headers["access-control-allow-headers"]
    stranger = httpx.options(f"{gateway.url}/api/threads", headers={"origin": "https://evil.example", **asked})
    assert not [name for name in stranger.headers if name.startswith("access-control-")]


def test_every_answer_has_the_headers_that_keep_browsers_strict(gateway, person):
    answers = [person.browser.get(path) for path in ("/", "/api/me", "/api/nothing", "/openapi.json")]
    answers.append(person.browser.put("/api/me"))
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers
    assert answers[0].headers["content-security-policy"] == PAGE_POLICY
    assert "unsafe" not in PAGE_POLICY
    assert answers[1].headers["cache-control"] == "no-store"


def test_over_tls_the_cookie_is_bound_to_the_host(servers):
    public = "https://retinue.example"
    # Everybody in this run comes from one address; production allows only so many accounts from there.
    env = {"RETINUE_PUBLIC_URL": public, "RETINUE_REGISTRATION": "open", "RETINUE_REGISTER_PER_ADDRESS": "10000"}
    with gateway_on(servers, env) as gateway:
        client = gateway.client(host="retinue.example", origin=public)
        answer = person_in_production(client)
        assert answer.status_code == 201, answer.text
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-retinue_session=")
        for attribute in ("Secure", "HttpOnly", "Path=/"):
            assert attribute in cookie
        assert "Domain" not in cookie
        assert answer.headers["strict-transport-security"]
        assert gateway.client(host="retinue.example", origin="http://retinue.example").get("/").status_code == 200
        foreign = gateway.client(host="retinue.example", origin="http://retinue.example:81")
        assert foreign.post("/api/auth/login", json={"username": "a", "password": "b"}).status_code == 403


def person_in_production(client):
    body = {"username": f"tls-{id(client):x}", "password": "correct horse battery"}
    return client.post("/api/auth/register", json=body)
