"""Keys that a real OpenBao keeps: the embedded one, set up by itself, as `RETINUE_VAULT=openbao` starts it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

from chassis.pools import Pool
from cli.up import keys, openbao
from cli.up.embedded import start_embedded
from cli.up.running import ground_of
from contracts.ids import uuid7
from llm import NotConfigured
from store import Store
from tests.kit.gateway import gateway_on, person_at
from tests.kit.stack import QUIET, Servers, data_folder
from tests.kit.waiting import eventually
from turn_runner.providers import UsersProviders
from turn_runner.settings import RunnerSettings
from vault import KeysAway, NotOpened, Transit, TransitLogin, Vault
from vault.envelope import Envelope

SECRET = b"sk-planted-0123456789abcdef"


class Bao:
    """The servers of a stack whose keys OpenBao keeps."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.ground = ground_of(servers.data_dir)

    def kill(self) -> int:
        """Without a word; the supervisor starts it again. Its process id."""
        pid: int = self.servers.process_of("openbao")["pid"]
        os.kill(pid, signal.SIGKILL)
        return pid

    def is_back(self, after: int) -> bool:
        row = self.servers.process_of("openbao")
        return row["ready"] and row["pid"] != after

    @property
    def log(self) -> str:
        return self.servers.log("openbao")

    def login(self, **other: Any) -> TransitLogin:
        told = self.servers.env_of("gateway")
        given = {
            "address": told["RETINUE_VAULT_ADDRESS"],
            "user": told["RETINUE_VAULT_USER"],
            "password": told["RETINUE_VAULT_PASSWORD"],
        }
        return TransitLogin(**{**given, **other})


@pytest.fixture(scope="module")
def bao() -> Iterator[Bao]:
    with data_folder() as data_dir:
        keys_of_ours = {"RETINUE_VAULT": "openbao", "RETINUE_KEYS": str(data_dir.parent / "keys")}
        servers = start_embedded(data_dir, QUIET | keys_of_ours, services=False)
        yield Bao(servers)
        servers.stop()


@pytest.fixture
async def threads() -> AsyncIterator[Pool]:
    pool = Pool("vault-test", size=2, queue_limit=64)
    yield pool
    await pool.close()


@pytest.fixture
def vault(bao: Bao, threads: Pool) -> Vault:
    return Vault(Transit(bao.login(), threads))


async def test_what_was_sealed_opens_under_its_own_context_only(bao: Bao, vault: Vault, threads: Pool) -> None:
    sealed = await vault.seal(SECRET, "provider/1")
    assert SECRET not in sealed
    assert Envelope.unpack(sealed).key_id == "transit:retinue:v1"
    elsewhere = Vault(Transit(bao.login(), threads))
    assert await elsewhere.open(sealed, "provider/1") == SECRET
    with pytest.raises(NotOpened):
        await elsewhere.open(sealed, "provider/2")


async def test_a_damaged_wrapped_key_is_not_opened(vault: Vault) -> None:
    sealed = await vault.seal(SECRET, "a")
    envelope = Envelope.unpack(sealed)
    damaged = Envelope(envelope.key_id, envelope.wrapped[:-6] + b"AAAA==", envelope.nonce, envelope.value).pack()
    with pytest.raises(NotOpened):
        await vault.open(damaged, "a")


async def test_the_services_login_may_do_that_and_no_more(bao: Bao) -> None:
    import hvac
    from hvac.exceptions import Forbidden

    login = bao.login()
    client = hvac.Client(url=login.address)
    client.auth.userpass.login(username=login.user, password=login.password)
    refused = (
        lambda: client.secrets.transit.export_key(name="retinue", key_type="encryption-key"),
        lambda: client.secrets.transit.delete_key(name="retinue"),
        lambda: client.secrets.transit.create_key(name="another"),
        lambda: client.sys.list_policies(),
        lambda: client.sys.seal(),
        lambda: client.auth.userpass.create_or_update_user(username="eve", password="eve-eve-eve-eve"),
    )
    for attempt in refused:
        with pytest.raises(Forbidden):
            await asyncio.to_thread(attempt)


async def test_a_wrong_login_is_said_without_its_password(bao: Bao, threads: Pool) -> None:
    vault = Vault(Transit(bao.login(password="not-the-password"), threads))
    with pytest.raises((KeysAway, NotOpened)) as told:
        await vault.seal(SECRET, "a")
    assert "not-the-password" not in str(told.value)


async def test_a_kill_loses_nothing_and_what_is_known_opens_meanwhile(bao: Bao, vault: Vault, threads: Pool) -> None:
    sealed = await vault.seal(SECRET, "a")
    assert await vault.open(sealed, "a") == SECRET
    nobody = Vault(Transit(bao.login(address="http://127.0.0.1:9", timeout=1.0), threads))
    with pytest.raises(KeysAway):
        await nobody.open(sealed, "a")
    fresh = Vault(Transit(bao.login(), threads))
    await fresh.seal(SECRET, "signed in")
    killed = await asyncio.to_thread(bao.kill)
    assert await vault.open(sealed, "a") == SECRET, "its data key is in memory"
    await asyncio.to_thread(eventually, lambda: bao.is_back(killed), 30, "the supervisor started it again")
    assert await fresh.open(sealed, "a") == SECRET, "it opened itself, and the same login goes on"


async def test_a_gateway_seals_with_it_and_starts_with_what_is_saved(bao: Bao, vault: Vault) -> None:
    connection = await asyncpg.connect(bao.servers.superuser_url)
    await connection.execute("insert into deployment_settings (name, value) values ('tokens_per_user', '1')")
    await connection.execute(
        "insert into deployment_settings (name, sealed) values ('openai_api_key', $1)", await vault.seal(SECRET, "x")
    )
    await connection.execute("insert into deployment_settings (name, value) values ('body_limit', '\"much\"')")
    with gateway_on(bao.servers) as gateway:
        admin = await asyncio.to_thread(person_at, gateway)
        assert (
            await asyncio.to_thread(lambda: admin.browser.post("/api/tokens", json={"name": "t"}))
        ).status_code == 409
        wish = {"kind": "openai", "key": SECRET.decode(), "scope": "deployment"}
        made = await asyncio.to_thread(lambda: admin.browser.post("/api/providers", json=wish))
        assert made.status_code == 201, made.text
        assert "body_limit" in gateway.log(), "a saved value that does not fit is said and left out"
        assert SECRET.decode() not in gateway.log()
    sealed = await connection.fetchval("select key_sealed from providers")
    await connection.close()
    assert Envelope.unpack(sealed).key_id == "transit:retinue:v1"


async def test_a_runner_goes_on_with_what_it_knows_while_nothing_can_be_opened(bao: Bao, threads: Pool) -> None:
    """The provider is the one that the gateway saved above."""
    stranger = uuid7()
    store = Store(bao.servers.role_url("turn_runner"), bao.servers.role_url("turn_runner_system"), pool_size=2)
    settings = RunnerSettings.read({"own_keys": False})
    away = Vault(Transit(bao.login(address="http://127.0.0.1:9", timeout=1.0), threads))
    with pytest.raises(NotConfigured, match="vault does not answer"):
        await UsersProviders(store, away, settings).of(stranger)

    class Leaving(Vault):
        is_away = False

        async def open(self, sealed: bytes, context: str) -> bytes:
            return await (away if self.is_away else super()).open(sealed, context)

    vault = Leaving(Transit(bao.login(), threads))
    users = UsersProviders(store, vault, settings, remember=0.0)
    (known,) = await users.of(stranger)
    assert (known.name, known.key, known.is_own) == ("openai", SECRET.decode(), False)
    assert SECRET.decode() not in repr(known)
    vault.is_away = True
    assert await users.of(stranger) == (known,)
    await store.dispose()


def test_nothing_secret_is_in_its_log_or_readable_by_others(bao: Bao) -> None:
    seal = keys.seal_path(bao.ground.settings)
    password = bao.ground.secrets[openbao.SECRET]
    assert seal.stat().st_mode & 0o777 == 0o600
    assert not seal.is_relative_to(bao.ground.folder.root)
    secrets = (SECRET.decode(), password, seal.read_bytes().hex())
    assert not [secret for secret in secrets if secret in bao.log]
    assert (bao.ground.folder.root / "openbao" / "openbao.json").stat().st_mode & 0o777 == 0o600
