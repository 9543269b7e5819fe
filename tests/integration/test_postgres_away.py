"""While Postgres is away the gateway says so, at once and in its usual shape; when it is back, so is everything."""

from collections.abc import Iterator

import pytest

from tests.kit.gateway import PASSWORD, Gateway, gateway_on, person_at
from tests.kit.stack import Servers, data_folder, start_servers
from tests.kit.waiting import eventually


@pytest.fixture
def servers() -> Iterator[Servers]:
    """Servers of our own: whoever shares a Postgres that restarts is left with broken connections."""
    with data_folder() as data_dir:
        running = start_servers(data_dir)
        yield running
        running.stop()


@pytest.fixture
def gateway(servers: Servers) -> Iterator[Gateway]:
    with gateway_on(servers) as running:
        yield running


def test_routes_answer_503_and_recover(servers, gateway):
    person = person_at(gateway)
    thread = person.browser.post("/api/threads", json={}).json()["id"]
    servers.stop_process("postgres")
    try:
        asked = [
            person.browser.get("/api/threads"),
            person.browser.post("/api/threads", json={}),
            person.browser.get(f"/api/threads/{thread}/messages"),
            gateway.client().get("/api/config"),
            gateway.client().post("/api/auth/login", json={"username": person.username, "password": PASSWORD}),
            gateway.client().get("/api/me", headers={"authorization": "Bearer ret_unknown"}),
        ]
        for answer in asked:
            assert (answer.status_code, answer.json()["error"]) == (503, "busy"), answer.text
            assert answer.headers["retry-after"]
            assert "database" in answer.json()["message"]
        assert gateway.client().get("/").status_code == 200
    finally:
        servers.start_process("postgres")
    eventually(lambda: person.browser.get("/api/threads").status_code == 200, what="threads are listed again")
    assert person.browser.get(f"/api/threads/{thread}").status_code == 200
    assert person.browser.post("/api/threads", json={}).status_code == 201
