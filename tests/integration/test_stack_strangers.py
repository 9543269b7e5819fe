"""Each server's port refuses whoever has no password, and each user may do its own work only."""

import asyncio
from pathlib import Path

import asyncpg
import nats
import nats.errors
import psutil
import pytest
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError

from tests.kit.stack import Servers


def port_of(servers: Servers, name: str) -> int:
    return servers.process_of(name)["ports"][0]


@pytest.mark.parametrize("password", [None, "", "postgres", "guess"])
async def test_postgres_refuses_a_stranger(servers: Servers, password: str | None) -> None:
    for user in ("postgres", "gateway_system", "retinue_owner"):
        with pytest.raises((asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError)):
            await asyncpg.connect(
                host="127.0.0.1", port=port_of(servers, "postgres"), user=user, password=password, database="postgres"
            )


async def test_postgres_has_no_other_door(servers: Servers) -> None:
    connection = await asyncpg.connect(servers.superuser_url)
    assert await connection.fetchval("show unix_socket_directories") == ""
    assert await connection.fetchval("show listen_addresses") == "127.0.0.1"
    methods = await connection.fetch("select distinct auth_method from pg_hba_file_rules")
    assert [row["auth_method"] for row in methods] == ["scram-sha-256"]
    await connection.close()


@pytest.mark.parametrize("login", ["", "gateway:guess@", "admin:@"])
async def test_nats_refuses_a_stranger(servers: Servers, login: str) -> None:
    refused = asyncio.get_running_loop().create_future()

    async def failed(error: Exception) -> None:
        if not refused.done():
            refused.set_result(error)

    with pytest.raises((nats.errors.Error, OSError)):
        await nats.connect(
            f"nats://{login}127.0.0.1:{port_of(servers, 'nats')}",
            allow_reconnect=False,
            connect_timeout=2,
            error_cb=failed,
        )
    assert "authorization" in str(await asyncio.wait_for(refused, 2)).lower()


async def test_nats_refuses_what_a_service_has_no_business_with(servers: Servers) -> None:
    refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def failed(error: Exception) -> None:
        if not refused.done():
            refused.set_result(str(error))

    connection = await nats.connect(servers.nats_url("turn_runner"), error_cb=failed)
    await connection.publish("$JS.API.STREAM.DELETE.LOG", b"")
    assert "permissions violation" in (await asyncio.wait_for(refused, 5)).lower()
    await connection.close()


async def test_valkey_refuses_a_stranger(servers: Servers) -> None:
    async with Redis(host="127.0.0.1", port=port_of(servers, "valkey")) as stranger:
        with pytest.raises(AuthenticationError):
            await stranger.ping()
    async with Redis.from_url(servers.redis_url) as ours:
        assert await ours.ping()


def test_servers_listen_on_loopback_and_nowhere_else(servers: Servers) -> None:
    for row in servers.ps():
        sockets = psutil.Process(row["pid"]).net_connections("inet")
        listening = {(s.laddr.ip, s.laddr.port) for s in sockets if s.status == psutil.CONN_LISTEN}
        assert listening == {("127.0.0.1", port) for port in row["ports"]}, row["name"]


def test_no_other_user_can_read_the_data(servers: Servers) -> None:
    open_to_others = [
        path for path in (servers.data_dir, *servers.data_dir.rglob("*")) if _exists(path) and path.stat().st_mode & 0o7
    ]
    assert open_to_others == []


def test_no_secret_is_on_a_command_line(servers: Servers) -> None:
    password = servers.superuser_url.split(":")[2].split("@")[0]
    for row in servers.ps():
        assert password not in " ".join(psutil.Process(row["pid"]).cmdline())


def _exists(path: Path) -> bool:
    # Postgres removes files of its own while we look.
    return path.exists() and not path.is_symlink() and not path.is_socket()
