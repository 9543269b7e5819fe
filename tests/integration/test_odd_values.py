"""Every field of every body, and every parameter, with values that nobody sends by accident: refused or taken, no bug.

Generated from the OpenAPI document, like the walk of `test_isolation`.
"""

import copy
import json
import re
from uuid import uuid4

import pytest

from gateway.app import make_api
from tests.kit.gateway import person_at

DOCUMENT = make_api().openapi()
SCHEMAS = DOCUMENT["components"]["schemas"]

ODD = [
    None,
    True,
    0,
    -1,
    1.5,
    1e308,
    2**31,
    2**63,
    2**64 - 1,
    "",
    " ",
    "\t\n",
    "a\0b",
    "x" * 70_000,
    "💥",
    "\u202eabc",
    "e\u0301" * 50,
    "\ufdfa" * 40,
    "../../etc/passwd",
    "' or 1=1 --",
    "{{7*7}}",
    str(uuid4()),
    [],
    {},
    [None],
    [[[[]]]],
    {"": {"$ref": "#"}},
    ["x"] * 2000,
    {str(n): n for n in range(2000)},
]

VALID = {
    "register": {"username": "odd-one", "password": "a long password", "invite": "code"},
    "login": {"username": "odd-one", "password": "a long password"},
    "create_token": {"name": "odd", "scopes": ["read"]},
    "create_thread": {"agent_id": None, "title": "odd"},
    "change_thread": {"title": "odd", "archived": False, "model": "lab/odd", "effort": "low", "deleted": False},
    "create_agent": {"name": "odd", "capabilities": ["web_fetch"], "glyph": "odd", "max_steps": 3},
    "change_agent": {"standing_orders": "odd", "fallback_models": ["lab/odd"], "archived": False},
    "add_provider": {"kind": "openai", "key": "sk-odd", "scope": "user"},
    "change_provider": {"key": "sk-odd"},
    "change_settings": {"user.model": "lab/odd"},
    "send_message": {
        "message": {
            "id": "m1",
            "role": "user",
            "metadata": {"a": 1},
            "parts": [{"type": "text", "text": "hi", "state": "done", "providerMetadata": {"a": {}}}],
        },
        "busy": "replace",
    },
    "send_chat_message": {
        "id": "odd-chat",
        "messages": [{"id": "m1", "role": "user", "metadata": {}, "parts": [{"type": "text", "text": "hi"}]}],
        "trigger": "submit-message",
        "messageId": None,
    },
    "stop_chat": {"turn": None},
}


ASKS_A_RUNNER = {"test_provider", "pull_model", "stop_pull"}
"""There is none here, and each of so many questions would wait for it."""


def operations():
    for path, methods in DOCUMENT["paths"].items():
        for method, described in methods.items():
            yield pytest.param(method.upper(), path, described, id=described["operationId"])


def places(value, way=()):
    """Every place in a body that can hold something else."""
    yield way
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*way, key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from places(inner, (*way, position))


def put(body, way, odd):
    if not way:
        return odd
    changed = copy.deepcopy(body)
    inner = changed
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = odd
    return changed


def bodies(name):
    valid = VALID[name]
    for way in places(valid):
        for odd in ODD:
            yield put(valid, way, odd)


def assert_no_bug(client, method, path, **asked):
    with client.stream(method, path, **asked) as answer:
        if "text/event-stream" in answer.headers.get("content-type", ""):
            return
        told = answer.read()
        assert answer.status_code < 500, f"{method} {path} {str(asked)[:300]}: {told[:300]!r}"
        if answer.status_code >= 400:
            body = json.loads(told)
            assert body["error"]
            assert len(body["message"]) < 1000


@pytest.fixture(scope="module")
def person(gateway):
    return person_at(gateway)


@pytest.fixture(scope="module")
def thread(person):
    return person.program.post("/api/threads", json={}).json()["id"]


@pytest.mark.parametrize(("method", "path", "described"), list(operations()))
def test_odd_values(method, path, described, person, thread):
    client = person.program
    # A thread of one's own, and otherwise what nobody has.
    concrete = re.sub(r"\{\w+_id\}", str(uuid4()), path.replace("{thread_id}", thread).replace("{chat_id}", "odd-chat"))
    assert "{" not in concrete
    if "requestBody" in described and described["operationId"] not in ASKS_A_RUNNER:
        for body in bodies(described["operationId"]):
            assert_no_bug(client, method, concrete, json=body)
    for parameter in described.get("parameters", []):
        if parameter["in"] == "query":
            for odd in ODD:
                assert_no_bug(client, method, concrete, params={parameter["name"]: str(odd)[:3000]})
        elif parameter["in"] == "path":
            for odd in ODD:
                shown = str(odd)[:3000].encode().hex("%", 1)
                assert_no_bug(client, method, path.replace(f"{{{parameter['name']}}}", f"%{shown}" if shown else "x"))


@pytest.mark.parametrize("header", ["idempotency-key", "last-event-id", "prefer", "x-request-id", "traceparent"])
def test_odd_headers(header, person, thread):
    for odd in ("", "0", "1.2.3", "-1.-1", "99999999999999999999.1", "1." + "9" * 400, "x" * 4000, "💥".encode()):
        value = odd if isinstance(odd, bytes) else odd.encode()
        asked = {"json": {"message": "hi"}, "headers": {header: value}}
        assert_no_bug(person.program, "POST", f"/api/threads/{thread}/turn", **asked)
        assert_no_bug(person.program, "GET", f"/api/threads/{thread}/turn", headers={header: value})


def test_what_was_taken_can_still_be_read(person, thread):
    """Whatever went in comes out again: a page that cannot be shown would be a thread lost."""
    assert person.program.delete(f"/api/threads/{thread}/turn").status_code == 200
    for item in person.program.get("/api/threads?limit=200").json()["items"]:
        before = ""
        while before is not None:
            page = person.program.get(f"/api/threads/{item['id']}/messages?limit=200{before}")
            assert page.status_code == 200
            cursor = page.json()["next_cursor"]
            before = None if cursor is None else f"&before={cursor}"


def test_nothing_here_was_a_bug(gateway):
    lines = [json.loads(line) for line in gateway.log().splitlines() if line.startswith("{")]
    assert [line for line in lines if line["event"] == "a request failed"] == []
