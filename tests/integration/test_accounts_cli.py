"""`retinue user | token | invite` on a real database, and the gateway that believes what they wrote."""

import json
import secrets
import subprocess
import sys

import pytest

from tests.kit.gateway import PASSWORD, gateway_on

# Each verb is a process of its own, on a machine that is busy with other tests.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def gateway(servers):
    with gateway_on(servers, {"RETINUE_REGISTRATION": "invite", "RETINUE_AUTH_CACHE": "0"}) as running:
        yield running


@pytest.fixture(scope="module")
def retinue(servers):
    def run(*arguments, stdin="", code=0):
        done = subprocess.run(
            [sys.executable, "-m", "cli.main", *arguments, "--data-dir", str(servers.data_dir)],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout.strip() if code == 0 else done.stderr.strip()

    return run


def unused():
    return f"cli-{secrets.token_hex(6)}"


def test_a_user_is_added_and_can_sign_in(gateway, retinue):
    name = unused()
    made = json.loads(retinue("user", "add", name, "--json", stdin=PASSWORD + "\n"))
    answer = gateway.client().post("/api/auth/login", json={"username": name, "password": PASSWORD})
    assert answer.json()["user"]["id"] == made["id"]
    assert made["id"] in [each["id"] for each in json.loads(retinue("user", "list", "--json"))]
    assert "already" in retinue("user", "add", name.upper(), stdin=PASSWORD, code=1)
    assert "at least 10" in retinue("user", "add", unused(), stdin="short\n", code=1)


def test_a_new_password_ends_every_session(gateway, retinue):
    name = unused()
    retinue("user", "add", name, stdin=PASSWORD)
    browser = gateway.client()
    assert browser.post("/api/auth/login", json={"username": name, "password": PASSWORD}).status_code == 200
    retinue("user", "reset-password", name, stdin="another long password")
    assert browser.get("/api/me").status_code == 401
    asked = gateway.client().post
    assert asked("/api/auth/login", json={"username": name, "password": PASSWORD}).status_code == 401
    assert asked("/api/auth/login", json={"username": name, "password": "another long password"}).status_code == 200


def test_tokens_are_made_listed_and_revoked(gateway, retinue):
    name = unused()
    retinue("user", "add", name, stdin=PASSWORD)
    made = json.loads(retinue("token", "create", name, "--scope", "read", "--json"))
    program = gateway.client(authorization=f"Bearer {made['token']}")
    assert program.get("/api/me").json()["scopes"] == ["read"]
    assert [each["id"] for each in json.loads(retinue("token", "list", name, "--json"))] == [made["id"]]
    retinue("token", "revoke", made["id"])
    assert program.get("/api/me").status_code == 401
    assert "no such token" in retinue("token", "revoke", made["id"], code=1)
    assert "administrator" in retinue("token", "create", name, "--scope", "admin", code=1)
    assert "no account" in retinue("token", "create", unused(), code=1)


def test_an_invitation_lets_one_person_in(gateway, retinue):
    code = retinue("invite", "create")

    def register(name, invite=None):
        body = {"username": name, "password": PASSWORD} | ({"invite": invite} if invite else {})
        return gateway.client().post("/api/auth/register", json=body)

    retinue("user", "add", unused(), stdin=PASSWORD)  # so that nobody here is the first
    assert register(unused()).json()["error"] == "invite_needed"
    assert register(unused(), "made-up").json()["error"] == "invite_invalid"
    assert register(unused(), code).status_code == 201
    assert register(unused(), code).json()["error"] == "invite_invalid"
    admin = register(unused(), retinue("invite", "create", "--admin"))
    assert admin.json()["user"]["is_admin"] is True


def test_invitations_are_listed_and_revoked(gateway, retinue):
    retinue("user", "add", unused(), stdin=PASSWORD)
    left, used = (json.loads(retinue("invite", "create", "--json")) for _ in range(2))
    guest = unused()

    def register(name, invite):
        body = {"username": name, "password": PASSWORD, "invite": invite["code"]}
        return gateway.client().post("/api/auth/register", json=body)

    assert register(guest, used).status_code == 201
    told = retinue("invite", "list", "--json")
    states = {each["id"]: (each["state"], each["used_by"]) for each in json.loads(told)}
    assert (states[left["id"]], states[used["id"]]) == (("open", None), ("used", guest))
    assert left["code"] not in told

    retinue("invite", "revoke", left["id"])
    assert register(unused(), left).json()["error"] == "invite_invalid"
    assert "no such invitation" in retinue("invite", "revoke", used["code"], code=1)
    lines = retinue("invite", "list").splitlines()
    assert any(line.startswith(used["id"]) and line.endswith(f"used by {guest}") for line in lines)
    assert not any(line.startswith(left["id"]) for line in lines)
