"""Bad input gets a clear refusal of one shape, and never a 500."""

import json
import socket

import pytest

from tests.kit.gateway import person_at


@pytest.fixture(scope="module")
def person(gateway):
    return person_at(gateway)


@pytest.fixture(scope="module")
def thread(person):
    return person.browser.post("/api/threads", json={}).json()["id"]


def assert_refused(answer, status, error):
    body = answer.json()
    assert (answer.status_code, body["error"]) == (status, error), answer.text
    assert isinstance(body["message"], str)
    assert body["message"]
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize(
    "body", [b"{", b"{'a': 1}", b'{"title": NaN}', b"\xff\xfe", b'{"title": "\\ud800"}', b"[" * 9999]
)
def test_malformed_json(person, body):
    answer = person.browser.post("/api/threads", content=body, headers={"content-type": "application/json"})
    assert_refused(answer, 400, "malformed_json")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": 5}, "title"),
        ({"title": ""}, "title"),
        ({"title": "   "}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"title": ["a"]}, "title"),
        ({"agent_id": "me"}, "agent_id"),
        ({"agent_id": 7}, "agent_id"),
        ([], "body"),
        ("text", "body"),
        (5, "body"),
    ],
)
def test_wrong_types(person, body, field):
    answer = person.browser.post("/api/threads", json=body)
    assert_refused(answer, 422, "invalid")
    assert answer.json()["fields"][0]["field"] == field
    assert field in answer.json()["message"]


def test_null_characters_are_refused_before_the_database_is_asked(person, thread):
    assert_refused(person.browser.post("/api/threads", json={"title": "a\0b"}), 422, "invalid")
    for path in ("/api/threads/%00", f"/api/threads/{thread}%00", "/api/chat/%00/stream", "/t/%00"):
        assert_refused(person.browser.get(path), 404, "not_found")
    for query in ("?before=%00", "?limit=%00"):
        assert_refused(person.browser.get(f"/api/threads{query}"), 422, "invalid")


def test_bodies_over_the_limit(gateway, person):
    answer = person.browser.post("/api/threads", json={"title": "x" * (1 << 20)})
    assert_refused(answer, 413, "too_large")
    assert answer.json()["limit"] == 1 << 20
    assert "1,048,576 bytes" in answer.json()["message"]

    def pieces():
        for _ in range(40):
            yield b" " * 65536

    answer = person.browser.post("/api/threads", content=pieces(), headers={"content-type": "application/json"})
    assert_refused(answer, 413, "too_large")
    assert person.browser.get("/api/me").status_code == 200


def test_who_writes_all_of_a_large_body_before_reading_gets_the_answer(person, thread):
    for size in (17_000_000, 33_000_000):
        answer = person.browser.post(f"/api/threads/{thread}/turn", json={"message": "x" * size})
        assert_refused(answer, 413, "too_large")
    assert person.browser.get("/api/me").status_code == 200


def test_other_media(person):
    answer = person.browser.post("/api/threads", content=b"title=x", headers={"content-type": "text/plain"})
    assert_refused(answer, 415, "unsupported_media_type")
    assert_refused(person.browser.post("/api/threads", data={"title": "x"}), 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "thread_id", ["nonsense", "0", "null", "%2e%2e", "💥", "6a1f3c52-0d0e-4b7e-9d43-2f6f2f0c1a77", "x" * 2000]
)
@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/messages")])
def test_unknown_ids(person, thread_id, method, rest):
    answer = person.browser.request(
        method, f"/api/threads/{thread_id}{rest}", json={"title": "x"} if method == "PATCH" else None
    )
    assert_refused(answer, 404, "not_found")


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=many", "limit=-1", "before=x", "before=AAAA", "before=%F0%9F%92%A5", "before="],
)
def test_wrong_queries(person, thread, query):
    for path in ("/api/threads", f"/api/threads/{thread}/messages"):
        assert_refused(person.browser.get(f"{path}?{query}"), 422, "invalid")


def test_a_cursor_of_another_list_is_none_of_this_one(person, thread):
    person.browser.post("/api/threads", json={})
    cursor = person.browser.get("/api/threads?limit=1").json()["next_cursor"]
    assert_refused(person.browser.get(f"/api/threads/{thread}/messages?before={cursor}"), 422, "invalid")


def test_unknown_addresses(person):
    for method in ("GET", "POST", "DELETE"):
        assert_refused(person.browser.request(method, "/api/nothing"), 404, "not_found")
    assert_refused(person.browser.get("/api/threads/"), 404, "not_found")
    assert_refused(person.browser.options("/api/nothing"), 404, "not_found")


def test_other_methods_say_which_are_taken(person, thread):
    answer = person.browser.put("/api/threads", json={})
    assert_refused(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, OPTIONS, POST"
    answer = person.browser.post(f"/api/threads/{thread}", json={})
    assert answer.headers["allow"] == "DELETE, GET, OPTIONS, PATCH"
    answer = person.browser.options(f"/api/threads/{thread}")
    assert (answer.status_code, answer.headers["allow"]) == (204, "DELETE, GET, OPTIONS, PATCH")


def test_without_credentials(gateway, thread):
    anyone = gateway.client()
    for method, path in [("GET", "/api/me"), ("GET", "/api/threads"), ("POST", "/api/threads"), ("GET", "/api/tokens")]:
        answer = anyone.request(method, path, json={} if method == "POST" else None)
        assert_refused(answer, 401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"
    for header in ("Bearer", "Bearer ret_made-up", "Basic YTpi", "ret_made-up"):
        answer = gateway.client(authorization=header).get("/api/me")
        assert_refused(answer, 401, "unauthorized")


def test_an_unknown_field_of_a_change_is_not_swallowed(person, thread):
    assert_refused(person.browser.patch(f"/api/threads/{thread}", json={"titel": "x"}), 422, "invalid")


def test_ids_of_requests_come_back_if_they_are_fit_for_a_log(gateway):
    client = gateway.client()
    assert client.get("/api/config", headers={"x-request-id": "my-request-7"}).headers["x-request-id"] == "my-request-7"
    forged = client.get("/api/config", headers={"x-request-id": "a b\tc"}).headers["x-request-id"]
    assert forged != "a b\tc"
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    answered = client.get("/api/config", headers={"traceparent": trace}).headers["traceparent"]
    assert answered.split("-")[1] == trace.split("-")[1]
    assert answered != trace


def raw(gateway, request):
    """The status line for bytes that no client library would send."""
    host, port = gateway.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 5) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").readline().decode()


def test_bytes_that_are_no_request(gateway):
    assert " 400 " in raw(gateway, b"nonsense\r\n\r\n")
    assert " 421 " in raw(gateway, b"GET /api/config HTTP/1.0\r\n\r\n")
    assert " 400 " in raw(gateway, b"GET / HTTP/1.1\r\nHost: localhost\r\nA: \0\r\n\r\n")
    assert gateway.client().get("/api/config").status_code == 200


def test_nothing_here_was_a_bug(gateway):
    lines = [json.loads(line) for line in gateway.log().splitlines() if line.startswith("{")]
    assert [line for line in lines if line["event"] == "a request failed"] == []
