"""The wrapper of every route, on an application of its own: bugs, refusals, and what a route declares."""

import io
import json
from types import SimpleNamespace
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from chassis import logs
from chassis.errors import Busy, Refused
from gateway.app import make_app
from gateway.http import Routes
from gateway.settings import GatewaySettings
from store import StoreAway

SETTINGS = GatewaySettings(host="127.0.0.1", public_url=None, body_limit=1024)
routes = Routes("samples")


class Thing(BaseModel):
    size: int


@routes.get("/bug", auth="none")
async def bug() -> dict:
    raise RuntimeError("the password is hunter2")


@routes.get("/wrong-answer", auth="none")
async def wrong_answer() -> Thing:
    return {"size": "many"}


@routes.get("/away", auth="none")
async def away() -> dict:
    raise StoreAway("the database does not answer")


@routes.get("/busy", auth="none")
async def busy() -> dict:
    raise Busy("full", retry_after=7)


@routes.get("/refused", auth="none")
async def refused() -> dict:
    raise Refused(409, "in_the_way", "Something is in the way.", where="here")


@routes.get("/things/{thing_id}", auth="none")
async def get_thing(thing_id: UUID, depth: int = 0) -> dict:
    return {"id": str(thing_id), "depth": depth}


@routes.post("/things", auth="none")
async def make_thing(thing: Thing) -> Thing:
    return thing


@pytest.fixture
def said():
    """The log lines so far."""
    written = io.StringIO()
    logs.setup(instance="test", level="info", stream=written)
    return lambda: [json.loads(line) for line in written.getvalue().splitlines()]


@pytest.fixture
async def client(said):
    nobody = SimpleNamespace(has_cookie=lambda headers: False)
    parts = SimpleNamespace(settings=SETTINGS, auth=nobody, streams=None)
    transport = httpx.ASGITransport(make_app(parts, [routes]))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8700") as opened:
        yield opened


@pytest.mark.parametrize("path", ["/bug", "/wrong-answer"])
async def test_a_bug_says_nothing_but_an_id_that_the_log_has(client, said, path):
    answer = await client.get(path)
    assert answer.status_code == 500
    body = answer.json()
    assert body["error"] == "internal"
    assert "hunter2" not in answer.text
    assert body["id"] == answer.headers["x-request-id"]
    (line,) = [line for line in said() if line.get("request_id") == body["id"]]
    assert line["level"] == "error"
    assert "Traceback" in line["exception"]


async def test_expected_refusals_are_not_errors_in_the_log(client, said):
    for path in ("/away", "/busy", "/refused", "/nothing"):
        await client.get(path)
    assert [line for line in said() if line["level"] == "error"] == []


async def test_refusals_keep_their_fields_and_headers(client):
    answer = await client.get("/refused")
    assert (answer.status_code, answer.json()) == (
        409,
        {"error": "in_the_way", "message": "Something is in the way.", "where": "here"},
    )
    for path, wait in (("/busy", "7"), ("/away", "1")):
        answer = await client.get(path)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, wait)
        assert answer.json()["error"] == "busy"


async def test_a_path_of_another_form_is_not_there_and_a_query_is_invalid(client):
    known = "/things/0199c0de-0000-7000-8000-000000000000"
    assert (await client.get(known)).status_code == 200
    assert (await client.get("/things/7")).status_code == 404
    answer = await client.get(known, params={"depth": "deep"})
    assert (answer.status_code, answer.json()["fields"][0]["field"]) == (422, "depth")


async def test_the_body_is_bounded_by_the_setting(client):
    assert (await client.post("/things", json={"size": 1})).json() == {"size": 1}
    assert (await client.post("/things", json={"size": 1, "pad": "x" * 2000})).json()["limit"] == 1024
    assert (await client.post("/things")).status_code == 422
    assert (await client.post("/things", content=b"null")).status_code == 422


def test_a_route_that_says_nothing_needs_a_caller():
    unsaid = Routes("unsaid")

    @unsaid.get("/unsaid")
    async def unsaid_route() -> dict:
        return {}

    app = FastAPI()
    unsaid.add_to(app)
    (route,) = [route for route in app.routes if route.path == "/unsaid"]
    assert route.access.auth == "required"
    assert not route.access.allow_expired
