"""One thing kept in each server, to see later that it is still there."""

from dataclasses import dataclass

import asyncpg
import nats
from redis.asyncio import Redis

from tests.kit.stack import Servers

STREAM = "KEEPSAKE"


@dataclass(frozen=True)
class Keepsakes:
    """A row, a stream's message and a key of the same text."""

    servers: Servers
    text: str

    async def keep(self) -> None:
        """Put them down; each write is acknowledged before this returns."""
        await self.keep_row()
        await self.keep_message()
        await self.keep_key()

    async def keep_row(self) -> None:
        connection = await asyncpg.connect(self.servers.superuser_url)
        await connection.execute("create table if not exists keepsake (text text primary key)")
        await connection.execute("insert into keepsake values ($1)", self.text)
        await connection.close()

    async def keep_message(self) -> None:
        connection = await nats.connect(self.servers.nats_url())
        stream = connection.jetstream()
        await stream.add_stream(name=STREAM, subjects=["keepsake"])
        await stream.publish("keepsake", self.text.encode())
        await connection.close()

    async def keep_key(self) -> None:
        async with Redis.from_url(self.servers.redis_url) as connection:
            await connection.set(self.text, "kept")

    async def missing(self) -> list[str]:
        """The servers that have lost theirs."""
        kept = {"postgres": await self._row(), "nats": await self._message(), "valkey": await self._key()}
        return [name for name, found in kept.items() if not found]

    async def _row(self) -> bool:
        connection = await asyncpg.connect(self.servers.superuser_url)
        found = await connection.fetchval("select true from keepsake where text = $1", self.text)
        await connection.close()
        return bool(found)

    async def _message(self) -> bool:
        connection = await nats.connect(self.servers.nats_url())
        last = await connection.jetstream().get_last_msg(STREAM, "keepsake")
        await connection.close()
        return last.data == self.text.encode()

    async def _key(self) -> bool:
        async with Redis.from_url(self.servers.redis_url) as connection:
            return bool(await connection.get(self.text))
