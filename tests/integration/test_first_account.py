"""The first account: an administrator; on a deployment that strangers can reach, only with the set-up code."""

import asyncio
from datetime import timedelta

import asyncpg
import httpx
import pytest

from cli.accounts.database import system_session
from cli.accounts.setup_code import new_setup_code
from store.credentials import digest
from store.system import accounts, invites
from tests.kit.gateway import PASSWORD, gateway_on
from tests.kit.stack import data_folder, start_servers


@pytest.fixture(scope="module")
def fresh():
    """Servers on which nobody has an account yet."""
    with data_folder() as data_dir:
        running = start_servers(data_dir)
        yield running
        running.stop()


@pytest.fixture
async def nobody(fresh):
    connection = await asyncpg.connect(fresh.superuser_url)
    await connection.execute("delete from users")
    await connection.execute("delete from invites")
    await connection.close()


def register(client, name, invite=None):
    body = {"username": name, "password": PASSWORD} | ({"invite": invite} if invite else {})
    return client.post("/api/auth/register", json=body)


@pytest.fixture(scope="module")
def local(fresh):
    with gateway_on(fresh) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def public(fresh):
    with gateway_on(fresh, {"RETINUE_PUBLIC_URL": "https://retinue.example"}) as gateway:
        yield gateway


async def test_on_this_machine_alone_the_first_becomes_admin(nobody, local):
    config = local.client().get("/api/config").json()
    assert (config["registration"], config["needs_setup"]) == ("open", True)
    assert register(local.client(), "first").json()["user"]["is_admin"] is True
    assert register(local.client(), "second").json()["user"]["is_admin"] is False
    assert local.client().get("/api/config").json()["needs_setup"] is False


async def test_of_several_at_the_same_moment_one_is_the_first(nobody, local):
    async with httpx.AsyncClient(base_url=local.url, timeout=60) as client:
        asked = (
            client.post("/api/auth/register", json={"username": f"race-{n}", "password": PASSWORD}) for n in range(8)
        )
        answers = await asyncio.gather(*asked)
    assert [answer.status_code for answer in answers] == [201] * 8
    assert sum(answer.json()["user"]["is_admin"] for answer in answers) == 1


async def test_an_admin_may_hold_an_admin_token(nobody, local):
    admin = local.client()
    register(admin, "first")
    made = admin.post("/api/tokens", json={"name": "admin", "scopes": ["admin"]})
    assert made.json()["scopes"] == ["admin"]
    assert admin.post("/api/tokens", json={"name": "plain"}).json()["scopes"] == ["chat", "read", "mcp"]


async def test_in_public_the_first_needs_the_code_that_was_printed(fresh, nobody, public):
    visitor = public.client(origin="https://retinue.example", host="retinue.example")
    config = visitor.get("/api/config").json()
    assert (config["registration"], config["needs_setup"]) == ("invite", True)
    assert register(visitor, "thief").json()["error"] == "setup_code_needed"
    assert register(visitor, "thief", "a guess").json()["error"] == "setup_code_needed"
    old = await new_setup_code(fresh.role_url("gateway_system"))
    code = await new_setup_code(fresh.role_url("gateway_system"))
    assert register(visitor, "thief", old).status_code == 403
    assert register(visitor, "owner", code).json()["user"]["is_admin"] is True
    assert await new_setup_code(fresh.role_url("gateway_system")) is None
    assert register(visitor, "late", code).json()["error"] == "invite_invalid"
    assert register(visitor, "late").json()["error"] == "invite_needed"


async def test_an_invitation_is_no_set_up_code(fresh, nobody, public):
    async with system_session(fresh.role_url("gateway_system")) as session:
        await invites.create_invite(session, digest("plain"), grants_admin=False, lifetime=timedelta(days=1))
    visitor = public.client(origin="https://retinue.example", host="retinue.example")
    assert register(visitor, "thief", "plain").json()["error"] == "setup_code_needed"


async def test_a_set_up_code_ends_with_the_first_account_however_that_was_made(fresh, nobody, public):
    system_url = fresh.role_url("gateway_system")
    printed = await new_setup_code(system_url)
    async with system_session(system_url) as session:
        await accounts.lock_first_account(session)
        await accounts.create_account(
            session, username="operator", username_key="operator", password_hash="!", is_admin=True
        )
    late = register(public.client(), "mallory", printed)
    assert (late.status_code, late.json()["error"]) == (403, "invite_invalid")
    async with system_session(system_url) as session:
        assert [each.is_open for each in await invites.list_invites(session)] == [False]
        await invites.create_invite(session, digest("a later one"), grants_admin=True, lifetime=timedelta(days=1))
    assert register(public.client(), "deputy", "a later one").json()["user"]["is_admin"] is True


async def test_closed_means_nobody_more(nobody, fresh):
    with gateway_on(fresh, {"RETINUE_REGISTRATION": "closed"}) as gateway:
        assert register(gateway.client(), "first").status_code == 201
        assert gateway.client().get("/api/config").json()["registration"] == "closed"
        assert register(gateway.client(), "second").json()["error"] == "registration_closed"
        assert register(gateway.client(), "second", "a code").json()["error"] == "registration_closed"
