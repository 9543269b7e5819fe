"""The pool: connections that broke while they were idle cost nobody an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from contracts.ids import uuid7
from store import Store
from store.store import driver_url
from tests.kit.stack import Servers

SIZE = 3


@pytest.fixture
async def store(servers: Servers) -> AsyncIterator[Store]:
    opened = Store(
        servers.role_url("gateway"),
        servers.role_url("gateway_system"),
        name="pool-test",
        pool_size=SIZE,
        pool_timeout=5,
    )
    yield opened
    await opened.dispose()


async def backends(store: Store) -> set[int]:
    """The processes behind as many sessions as the pool has, open side by side."""
    all_open = asyncio.Barrier(SIZE)

    async def pid() -> int:
        async with store.session(uuid7()) as session:
            await all_open.wait()
            return (await session.execute(text("select pg_backend_pid()"))).scalar_one()

    return set(await asyncio.gather(*(pid() for _ in range(SIZE))))


async def hang_up(servers: Servers, pids: set[int]) -> None:
    """What a restart of Postgres does to idle connections; returns when their processes have gone."""
    engine = create_async_engine(driver_url(servers.superuser_url))
    try:
        async with engine.begin() as session:
            for pid in pids:
                gone = await session.execute(text("select pg_terminate_backend(:pid, 5000)"), {"pid": pid})
                assert gone.scalar_one()
    finally:
        await engine.dispose()


async def test_connections_that_broke_while_idle_are_replaced(servers: Servers, store: Store) -> None:
    before = await backends(store)
    assert len(before) == SIZE
    await hang_up(servers, before)
    after = await backends(store)
    assert len(after) == SIZE
    assert not before & after
