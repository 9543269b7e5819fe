"""Makes the database what the code expects: roles, the database itself, then every migration.

Two steps under one advisory lock: a superuser makes roles and the database; the owner runs the migrations. Services
never do either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine

from store.store import driver_url

OWNER = "retinue_owner"
DATABASE = "retinue"
LOCK = 0x7265_7469_6E75_65  # "retinue"

ROLES: dict[str, str] = {
    OWNER: "createdb",
    "gateway": "",
    "gateway_system": "bypassrls",
    "turn_runner": "",
    "turn_runner_system": "bypassrls",
}
"""Login role -> what it may do beyond its grants; only services that exist have roles."""


def database_url(url: str, *, user: str, password: str, database: str = DATABASE) -> str:
    """The same server, seen as another login and database."""
    parts = urlsplit(url)
    host = parts.hostname or "127.0.0.1"
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, f"{user}:{password}@{host}{port}", f"/{database}", parts.query, ""))


async def migrate(superuser_url: str, passwords: Mapping[str, str]) -> None:
    """Brings roles, database and tables up to date; safe to run again and from several places at once.

    `passwords` holds one for every name in `ROLES` (KeyError otherwise); letters, digits, `-` and `_` only
    (ValueError otherwise).
    """
    connect: Any = asyncpg.connect  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # untyped
    admin: Any = await connect(superuser_url, timeout=10)
    try:
        await admin.execute("select pg_advisory_lock($1)", LOCK)
        await _make_roles(admin, passwords)
        await _make_database(admin)
        await _run_migrations(database_url(superuser_url, user=OWNER, password=passwords[OWNER]))
    finally:
        await admin.close()  # ends the session, and with it the lock


async def _make_roles(admin: Any, passwords: Mapping[str, str]) -> None:
    for role, attributes in ROLES.items():
        password = passwords[role]
        if not re.fullmatch(r"[A-Za-z0-9_-]+", password):
            raise ValueError(f"the password of {role} holds other characters than letters, digits, - and _")
        exists = await admin.fetchval("select true from pg_roles where rolname = $1", role)
        verb = "alter" if exists else "create"
        # DDL takes no parameters; both names are ours and the password was checked above.
        await admin.execute(f"{verb} role {role} login nosuperuser {attributes} password '{password}'")


async def _make_database(admin: Any) -> None:
    if not await admin.fetchval("select true from pg_database where datname = $1", DATABASE):
        await admin.execute(f"create database {DATABASE} owner {OWNER} encoding 'UTF8' template template0")
    await admin.execute(f"revoke all on database {DATABASE} from public")
    services = ", ".join(role for role in ROLES if role != OWNER)
    await admin.execute(f"grant connect on database {DATABASE} to {services}")


async def _run_migrations(owner_url: str) -> None:
    engine = create_async_engine(driver_url(owner_url), pool_size=1)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_upgrade)
    finally:
        await engine.dispose()


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
