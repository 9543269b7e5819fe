"""What the database is doing, seen with the superuser's login: for benchmarks and tests, never for a service."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg  # pyright: ignore[reportMissingTypeStubs]

from store.store import StoreAway

_OPEN = """
    select extract(epoch from clock_timestamp() - xact_start)::float8 as age, usename as login,
        application_name as name, state, left(query, 200) as query
    from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
        and xact_start is not null
    order by xact_start
"""

_SESSIONS = """
    select usename as login, application_name as name, state, count(*)::int as count from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
    group by 1, 2, 3
"""

_AWAY = (asyncpg.InterfaceError, asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError)


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction under way; `age` in seconds."""

    age: float
    login: str
    name: str
    state: str
    query: str


@dataclass(frozen=True, slots=True)
class Sessions:
    """How many connections of a process's login are in a state (`idle`, `active`, `idle in transaction`)."""

    login: str
    name: str
    state: str
    count: int


class Activity:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def transactions(self) -> list[OpenTransaction]:
        """Those under way, the oldest first."""
        return [OpenTransaction(**row) for row in await self._connection.fetch(_OPEN)]

    async def sessions(self) -> list[Sessions]:
        rows = await self._connection.fetch(_SESSIONS)
        return [Sessions(row["login"], row["name"], row["state"] or "", row["count"]) for row in rows]


@asynccontextmanager
async def watching(superuser_url: str) -> AsyncGenerator[Activity]:
    """A connection of its own, beside everybody's pools. Raises `StoreAway`, also out of the block."""
    connect: Any = asyncpg.connect  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # untyped
    try:
        connection: Any = await connect(superuser_url, timeout=10, server_settings={"application_name": "activity"})
        try:
            yield Activity(connection)
        finally:
            connection.terminate()
    except (OSError, *_AWAY) as away:
        raise StoreAway(f"the database does not answer ({away})") from away
