"""The two ways into Postgres: as a user, under row-level security, and as the system, across users.

A session is one transaction: it commits when the block ends and rolls back when the block raises. Never hold one
while a stream is open.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import UUID

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import orjson
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

Session = AsyncConnection
"""A transaction with its user set (or the system's)."""


class _UserConnection(asyncpg.Connection):  # pyright: ignore[reportMissingTypeArgument, reportUntypedBaseClass]
    """Begins a transaction and sets its user in one round trip; the user ends with the transaction."""

    user: UUID | None = None

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        if self.user is not None and query == "BEGIN;":  # the driver's own words, and only ever whole
            query = f"BEGIN; SELECT set_config('retinue.user', '{self.user}', true)"
        return await super().execute(query, *args, timeout=timeout)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class StoreAway(Exception):
    """Postgres does not answer, or every pooled connection stayed busy for the pool's time-out."""


def driver_url(url: str) -> str:
    """A plain `postgresql://` address as SQLAlchemy's asyncpg dialect wants it."""
    return url.replace("postgresql://", "postgresql+asyncpg://", 1).replace("postgres://", "postgresql+asyncpg://", 1)


def _dumps(value: Any) -> str:
    return orjson.dumps(value).decode()


def make_engine(url: str, name: str, *, pool_size: int, pool_timeout: float, statement_timeout_ms: int) -> AsyncEngine:
    engine = create_async_engine(
        driver_url(url),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=pool_timeout,
        json_serializer=_dumps,
        json_deserializer=orjson.loads,
        connect_args={
            "timeout": 5,
            "connection_class": _UserConnection,
            "server_settings": {
                "application_name": name,
                "jit": "off",  # our statements are short; compiling them costs more than it saves
                "statement_timeout": str(statement_timeout_ms),
                "idle_in_transaction_session_timeout": str(statement_timeout_ms),
            },
        },
    )
    event.listen(engine.sync_engine, "checkout", _leave_out_the_closed)
    return engine


def _leave_out_the_closed(connection: Any, _record: Any, _proxy: Any) -> None:
    """Connections that broke in the pool (Postgres restarted, say) are replaced before anybody asks through them.

    The driver knows without a round trip that the other side has hung up.
    """
    if connection.driver_connection.is_closed():
        raise DisconnectionError("the connection broke while it was idle")


class Store:
    """The pools of one process: `<svc>` under policies, `<svc>_system` past them.

    `pool_size` connections each; who waits longer than `pool_timeout` seconds for one gets `StoreAway`.
    """

    def __init__(
        self,
        url: str,
        system_url: str,
        *,
        name: str = "retinue",
        pool_size: int = 10,
        pool_timeout: float = 10,
        statement_timeout_ms: int = 15_000,
    ) -> None:
        options: dict[str, Any] = {
            "pool_size": pool_size,
            "pool_timeout": pool_timeout,
            "statement_timeout_ms": statement_timeout_ms,
        }
        self._engine = make_engine(url, name, **options)
        self._system_engine = make_engine(system_url, f"{name}-system", **options)
        self._system_statements = self._system_engine.execution_options(isolation_level="AUTOCOMMIT")
        """The same pool."""

    @asynccontextmanager
    async def session(self, user_id: UUID) -> AsyncGenerator[Session]:
        """A transaction in which only this user's rows exist."""
        async with _transaction(self._engine) as session:
            connection: Any = (await session.get_raw_connection()).driver_connection
            connection.user = UUID(str(user_id))  # nothing but a UUID gets into the statement
            try:
                yield session
            finally:
                connection.user = None

    @asynccontextmanager
    async def system(self) -> AsyncGenerator[Session]:
        """A transaction across users; its queries live in `store.system`, kept there by an import rule."""
        async with _transaction(self._system_engine) as session:
            yield session

    @asynccontextmanager
    async def statement(self) -> AsyncGenerator[Session]:
        """The system's for single statements: each is a transaction of its own, which saves two round trips."""
        with _told_apart():
            async with self._system_statements.connect() as session:
                yield session

    async def ping(self) -> None:
        """Raises `StoreAway` unless both logins answer."""
        for engine in (self._engine, self._system_engine):
            async with _transaction(engine) as session:
                await session.execute(text("select 1"))

    async def dispose(self) -> None:
        await self._engine.dispose()
        await self._system_engine.dispose()


@asynccontextmanager
async def _transaction(engine: AsyncEngine) -> AsyncGenerator[Session]:
    with _told_apart():
        async with engine.begin() as session:
            yield session


@contextmanager
def _told_apart() -> Generator[None]:
    """Whatever means that Postgres cannot be asked now is `StoreAway`."""
    try:
        yield
    except PoolTimeout as busy:
        raise StoreAway("every database connection is busy") from busy
    except (OperationalError, InterfaceError) as lost:
        raise _away(lost.orig) from lost
    except DBAPIError as error:
        if error.connection_invalidated or _is_going_away(error):
            raise _away(error.orig) from error
        raise
    except OSError as refused:
        raise _away(refused) from refused


def _away(cause: BaseException | None) -> StoreAway:
    """With the driver's own words, which name no statement and no value of it."""
    return StoreAway(f"the database does not answer ({cause})")


def _is_going_away(error: DBAPIError) -> bool:
    """57P01..57P03: the server is shutting down, has crashed, or is starting up (PostgreSQL, appendix A)."""
    state = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
    return isinstance(state, str) and (state.startswith(("57P0", "08")) or state == "53300")
