"""Limits, counted in Valkey for all gateways together; and what holds while Valkey is away."""

import secrets

import pytest

from tests.kit.gateway import PASSWORD, gateway_on

LIMITS = {
    "RETINUE_LOGIN_PER_USERNAME": "3",
    "RETINUE_LOGIN_PER_ADDRESS": "12",
    "RETINUE_LOGIN_WHEN_AWAY": "2",
    "RETINUE_TRUSTED_PROXIES": "127.0.0.1",
    "RETINUE_REGISTER_PER_ADDRESS": "2",
    "RETINUE_REQUESTS_PER_USER": "20",
    "RETINUE_REQUESTS_PER_ADDRESS": "20",
    "RETINUE_MESSAGES_PER_USER": "2",
}


@pytest.fixture(scope="module")
def gateway(servers):
    with gateway_on(servers, LIMITS) as running:
        yield running


@pytest.fixture(scope="module")
def second_gateway(servers):
    with gateway_on(servers, LIMITS) as running:
        yield running


def address():
    return f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::1"


def visitor(gateway):
    """Somebody from an address of their own."""
    return gateway.client(**{"x-forwarded-for": address()})


def login(client, username, password="a wrong password"):
    return client.post("/api/auth/login", json={"username": username, "password": password})


def known(gateway):
    name = f"throttled-{secrets.token_hex(6)}"
    made = visitor(gateway).post("/api/auth/register", json={"username": name, "password": PASSWORD})
    assert made.status_code == 201
    return name


def test_guessing_at_one_name_ends_from_wherever_it_comes(gateway, second_gateway):
    name = known(gateway)
    answers = [login(visitor(each), name) for each in (gateway, second_gateway, gateway, second_gateway)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    body = answers[-1].json()
    assert (body["error"], body["scope"], body["count"], body["limit"]) == ("too_many_requests", "login", 4, 3)
    assert 0 < int(answers[-1].headers["retry-after"]) <= 300
    assert str(body["retry_after"]) in body["message"]
    assert login(visitor(gateway), name, PASSWORD).status_code == 429  # also with the right one, or guessing would pay
    assert login(visitor(gateway), name.upper()).status_code == 429


def test_a_success_starts_the_count_again(gateway):
    name = known(gateway)
    for _ in range(4):
        assert [login(visitor(gateway), name).status_code for _ in range(2)] == [401, 401]
        assert login(visitor(gateway), name, PASSWORD).status_code == 200


def test_guessing_at_many_names_ends_at_the_address(gateway):
    client = visitor(gateway)
    answers = [login(client, f"nobody-{secrets.token_hex(6)}") for _ in range(13)]
    assert [answer.status_code for answer in answers] == [401] * 12 + [429]
    assert answers[-1].json()["scope"] == "login_address"


def test_registering_is_counted_by_address(gateway):
    client = visitor(gateway)

    def register():
        return client.post(
            "/api/auth/register", json={"username": f"r-{secrets.token_hex(6)}", "password": PASSWORD}
        ).status_code

    assert [register() for _ in range(3)] == [201, 201, 429]


def test_requests_are_counted_by_user_and_by_address_of_strangers(gateway):
    stranger = visitor(gateway)
    assert [stranger.get("/api/config").status_code for _ in range(21)] == [200] * 20 + [429]
    name = known(gateway)
    client = visitor(gateway)
    login(client, name, PASSWORD)
    answers = [client.get("/api/me") for _ in range(21)]
    assert [answer.status_code for answer in answers] == [200] * 20 + [429]
    assert answers[-1].json()["scope"] == "requests_per_user"


def test_messages_are_counted_by_user_and_channel_and_repeats_are_not(gateway):
    client = visitor(gateway)
    login(client, known(gateway), PASSWORD)
    thread = client.post("/api/threads", json={}).json()["id"]

    def send(through, key):
        return through.post(
            f"/api/threads/{thread}/turn",
            json={"message": "hello"},
            headers={"prefer": "respond-async", "idempotency-key": key},
        )

    assert [send(client, key).status_code for key in ("a", "a", "a", "b")] == [202] * 4
    refused = send(client, "c")
    assert (refused.status_code, refused.json()["scope"], refused.json()["limit"]) == (429, "messages_web", 2)
    token = client.post("/api/tokens", json={"name": "program"}).json()["token"]
    assert send(gateway.client(authorization=f"Bearer {token}"), "d").status_code == 202
    client.delete(f"/api/threads/{thread}")


def test_without_valkey_logins_have_a_small_limit_and_the_rest_is_open(servers):
    with gateway_on(servers, LIMITS | {"REDIS_URL": "redis://:x@127.0.0.1:1/0"}) as gateway:
        name = known(gateway)
        assert [login(visitor(gateway), name).status_code for _ in range(3)] == [401, 401, 429]
        stranger = visitor(gateway)
        assert [stranger.get("/api/config").status_code for _ in range(25)] == [200] * 25


def test_valkey_may_go_and_come_back(servers, gateway):
    name = known(gateway)
    servers.stop_process("valkey")
    try:
        assert login(visitor(gateway), name, PASSWORD).status_code == 200
    finally:
        servers.start_process("valkey")
    assert login(visitor(gateway), name, PASSWORD).status_code == 200
