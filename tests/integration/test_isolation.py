"""Every route of the OpenAPI document, walked by a second user with the first user's ids.

Generated from the document: a new route is walked without a word here, and one with a new kind of id fails until it is
said where the first user's is to be had. Nothing succeeds, "not yours" is answered exactly as "not there", nothing of
the first user's is in any reply, and none of their rows changes. The chat routes are the exception by design: a chat
id is the client's own, so a foreign one is simply a new one.
"""

import json
import secrets
from dataclasses import dataclass, field
from uuid import uuid4

import asyncpg
import httpx
import pytest

from gateway.app import make_api
from tests.kit.gateway import person_at
from tests.kit.waiting import eventually

DOCUMENT = make_api().openapi()
METHODS = ("get", "post", "put", "patch", "delete")
CHAT_ROUTES = {"send_chat_message", "resume_chat", "stop_chat"}

# What a valid request says beside ids. Everything else is made from the schema.
BODIES = {
    "register": lambda: {"username": f"walker-{secrets.token_hex(6)}", "password": "a long password"},
    "login": lambda: {"username": f"walker-{secrets.token_hex(6)}", "password": "a long password"},
    "create_token": lambda: {"name": "walk"},
    "create_agent": lambda: {"name": "walk"},
    "change_agent": lambda: {"name": "taken over", "archived": True},
    "change_provider": lambda: {"name": "taken-over"},
    "change_thread": lambda: {"title": "taken over", "archived": True},
    "send_message": lambda: {"message": "hello", "busy": "replace"},
    "send_chat_message": lambda: {"message": {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}},
}
SESSION_ENDS = {"logout"}
ASK_A_RUNNER = {"list_models", "start"}
"""There is none here, and they say so (503); whose models they show is held in test_settings_and_providers."""


@dataclass
class Operation:
    name: str
    method: str
    path: str
    parameters: dict[str, str] = field(default_factory=dict)  # name -> path or query
    properties: list[str] = field(default_factory=list)
    is_open: bool = False
    statuses: set[str] = field(default_factory=set)

    @property
    def ids(self):
        """Names of everything in it that may name somebody's thing."""
        names = [name for name, place in self.parameters.items() if place == "path"]
        return names + [name for name in (*self.parameters, *self.properties) if name in KINDS and name not in names]


KINDS = {
    "thread_id": "thread",
    "agent_id": "agent",
    "token_id": "token",
    "chat_id": "chat",
    "turn": "turn",
    "turn_id": "turn",
    "id": "chat",
    "dead_letter_id": "dead_letter",
    "reference_id": "blob",
    "provider_id": "provider",
}


def schema_of(body):
    reference = body["content"]["application/json"]["schema"]
    for part in (reference, *reference.get("anyOf", [])):
        if "$ref" in part:
            return DOCUMENT["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]]
    return reference


def operations():
    for path, methods in DOCUMENT["paths"].items():
        for method, described in methods.items():
            if method not in METHODS:
                continue
            body = described.get("requestBody")
            yield Operation(
                described["operationId"],
                method.upper(),
                path,
                {
                    each["name"]: each["in"]
                    for each in described.get("parameters", [])
                    if each["in"] in ("path", "query")
                },
                list(schema_of(body).get("properties", {})) if body else [],
                is_open=not described["security"] or {} in described["security"],
                statuses=set(described["responses"]),
            )


OPERATIONS = list(operations())


def request_of(operation, things):
    """The request with these things' ids wherever an id can be."""
    path = operation.path
    query = {}
    for name, place in operation.parameters.items():
        if place == "path":
            path = path.replace(f"{{{name}}}", things[KINDS[name]]).replace(f"{{{name}:path}}", things[KINDS[name]])
        elif name in KINDS:
            query[name] = things[KINDS[name]]
    body = None
    if operation.properties:
        body = BODIES[operation.name]() if operation.name in BODIES else {}
        body |= {name: things[KINDS[name]] for name in operation.properties if name in KINDS}
    return {"method": operation.method, "url": path, "params": query, "json": body}


def answer_of(client, request):
    """Status and body; of a stream only its start, for it may go on for ever."""
    with client.stream(**request) as answer:
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            return answer.status_code, b""
        return answer.status_code, answer.read()


@pytest.fixture(scope="module", autouse=True)
def administrator(gateway):
    """The first account administers, and reaches more: neither of ours shall be it."""
    return person_at(gateway)


@pytest.fixture(scope="module")
def ada(gateway):
    return person_at(gateway)


@pytest.fixture(scope="module")
def bob(gateway):
    return person_at(gateway)


@pytest.fixture(scope="module")
async def dead_letter(servers):
    """Nobody's own, and none of a stranger's business."""
    letter = str(uuid4())
    connection = await asyncpg.connect(servers.superuser_url)
    await connection.execute(
        "insert into dead_letters (id, consumer, stream, subject, event_id, payload, deliveries, first_seen_at,"
        " reason_type, reason)"
        " values ($1, 'turn-runner', 'TURN', 'turn.requested.v1', $1, 'Ada''s', 1, now(), 'Test', '')",
        letter,
    )
    yield letter
    await connection.execute("delete from dead_letters where id = $1", letter)
    await connection.close()


@pytest.fixture(scope="module")
async def blob(servers, ada):
    """A reference of the first user's; the bytes themselves are nobody's."""
    reference, hash = str(uuid4()), secrets.token_bytes(32)
    connection = await asyncpg.connect(servers.superuser_url)
    await connection.execute("insert into blobs (hash, size) values ($1, 5)", hash)
    await connection.execute(
        "insert into blob_references (id, user_id, hash, size, name, media_type)"
        " values ($1, $2, $3, 5, 'Ada''s', 'text/plain')",
        reference,
        ada.id,
        hash,
    )
    await connection.close()
    return reference


@pytest.fixture(scope="module")
def adas(ada, dead_letter, blob):
    """One thing of each kind, all the first user's."""
    browser = ada.browser
    thread = browser.post("/api/threads", json={"title": "Ada's own"}).json()["id"]
    sent = browser.post(f"/api/threads/{thread}/turn", json={"message": "mine"}, headers={"prefer": "respond-async"})
    assert sent.status_code == 202, sent.text
    turn = sent.json()["turn"]
    provider = browser.post("/api/providers", json={"kind": "openai", "key": "sk-of-adas-alone-0123", "scope": "user"})
    assert provider.status_code == 201, provider.text
    chat = f"chat-{secrets.token_hex(6)}"
    body = {"id": chat, "message": {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Ada's words"}]}}
    with browser.stream("POST", "/api/chat", json=body) as started:
        assert started.status_code == 200
    browser.delete(f"/api/threads/{thread}/turn")
    browser.post(f"/api/chat/{chat}/stop")
    eventually(lambda: _is_quiet(browser), what="Ada's turns have ended")
    return {
        "thread": thread,
        "turn": turn,
        "chat": chat,
        "agent": browser.get("/api/agents").json()["items"][0]["id"],
        "token": browser.get("/api/tokens").json()["items"][0]["id"],
        "dead_letter": dead_letter,
        "blob": blob,
        "provider": provider.json()["id"],
    }


def _is_quiet(browser):
    return all(thread["status"] in (None, "failed") for thread in browser.get("/api/threads").json()["items"])


def nobodys():
    ids = {kind: str(uuid4()) for kind in ("thread", "turn", "agent", "token", "dead_letter", "blob", "provider")}
    return ids | {"chat": f"chat-{secrets.token_hex(6)}"}


@pytest.fixture
async def rows_of_ada(servers, ada):
    """Everything that is the first user's, as the database holds it."""

    async def read():
        connection = await asyncpg.connect(servers.superuser_url)
        owned = await connection.fetch(
            "select table_name from information_schema.columns"
            " where table_schema = 'public' and column_name = 'user_id'"
        )
        rows = {
            name: await connection.fetchval(
                f"select json_agg(t order by t::text)::text from {name} t where user_id = $1::uuid", ada.id
            )
            for (name,) in owned
        }
        rows["users"] = await connection.fetchval("select to_json(u)::text from users u where id = $1::uuid", ada.id)
        rows["dead_letters"] = await connection.fetchval("select json_agg(d order by d.id)::text from dead_letters d")
        rows["messages"] = await connection.fetchval(
            "select json_agg(m order by m.id)::text from messages m join threads t on t.id = thread_id"
            " where t.user_id = $1::uuid",
            ada.id,
        )
        await connection.close()
        return rows

    return read


def test_the_document_names_no_unknown_kind_of_id():
    unknown = {
        (operation.name, name)
        for operation in OPERATIONS
        for name, place in operation.parameters.items()
        if place == "path" and name not in KINDS
    }
    assert unknown == set()
    assert len(OPERATIONS) >= 15


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_a_stranger_gets_nowhere(operation, gateway, bob, adas, rows_of_ada):
    before = await rows_of_ada()
    walker = bob.browser if operation.name not in SESSION_ENDS else person_at(gateway).browser
    asked = request_of(operation, adas)
    status, body = answer_of(walker, asked)
    for kind in ("thread", "turn", "agent", "token", "dead_letter", "blob", "provider"):
        if adas[kind] not in str(asked):  # an echo tells nothing
            assert adas[kind].encode() not in body, f"{operation.name} tells about the first user's {kind}"
    assert b"Ada's" not in body
    if operation.ids and operation.name not in CHAT_ROUTES:
        other_status, other_body = answer_of(walker, request_of(operation, nobodys()))
        assert status >= 400, f"{operation.name} succeeded with the first user's ids: {body[:200]!r}"
        assert (status, body) == (other_status, other_body), "not yours must look like not there"
    assert status < 500 or (status == 503 and operation.name in ASK_A_RUNNER), body
    assert str(status) in operation.statuses, f"{operation.name} answers {status}, which its document does not say"
    assert await rows_of_ada() == before


@pytest.mark.parametrize("name", sorted(CHAT_ROUTES))
def test_a_foreign_chat_id_is_a_new_one(name, gateway, adas):
    stranger = person_at(gateway).browser
    operation = next(each for each in OPERATIONS if each.name == name)
    foreign, new = (answer_of(stranger, request_of(operation, things)) for things in (adas, nobodys()))
    assert foreign[0] == new[0]
    made = stranger.get("/api/threads").json()["items"]
    assert len(made) == (2 if name == "send_chat_message" else 0)
    assert adas["thread"] not in [thread["id"] for thread in made]
    stranger.post(f"/api/chat/{adas['chat']}/stop")


@pytest.mark.parametrize(
    "operation", [each for each in OPERATIONS if not each.is_open and each.name != "logout"], ids=lambda each: each.name
)
def test_nobody_gets_nowhere(operation, gateway, adas):
    status, body = answer_of(gateway.client(), request_of(operation, adas))
    assert (status, json.loads(body)["error"]) == (401, "unauthorized")


def test_a_strangers_token_gets_nowhere_either(bob, adas):
    for operation in OPERATIONS:
        if "thread_id" in operation.parameters:
            assert answer_of(bob.program, request_of(operation, adas))[0] == 404, operation.name


def test_the_walk_asks_what_the_gateway_serves(gateway):
    assert httpx.get(f"{gateway.url}/openapi.json").json()["paths"].keys() == DOCUMENT["paths"].keys()
