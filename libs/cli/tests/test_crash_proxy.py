"""The proxy of a crash run: carries bytes both ways, and resets what it is told to cut."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from cli.bench.crash.proxy import Proxy

CHANCE = random.Random(1)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """An echo."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1000):
                writer.write(data)
        except ConnectionError:
            pass
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def through(proxy: Proxy) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2]))
    writer.write(b"hello")
    assert await reader.readexactly(5) == b"hello"
    return reader, writer


async def test_bytes_and_an_orderly_end_go_through(port: int) -> None:
    async with Proxy.opened("127.0.0.1", port) as proxy:
        reader, writer = await through(proxy)
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()


async def test_a_cut_resets_connections_and_the_next_one_works(port: int) -> None:
    async with Proxy.opened("127.0.0.1", port) as proxy:
        reader, writer = await through(proxy)
        assert proxy.cut(0.0, CHANCE) == 0
        assert proxy.cut(1.0, CHANCE) == 1
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
        _, writer = await through(proxy)
        writer.close()


async def test_nobody_behind_it_is_a_broken_connection() -> None:
    async with Proxy.opened("127.0.0.1", 1) as proxy:
        with pytest.raises(ConnectionError):
            await through(proxy)
