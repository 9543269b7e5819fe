"""Many messages at once, with the superuser's login: for benchmarks and tests, never for a service.

They go in by COPY, past the door: no turn has written them. Their words are found as those of any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import orjson

from contracts.ids import uuid7

_BATCH = 5000


@dataclass(frozen=True, slots=True)
class Said:
    """A message of one text; even ones of a thread are its user's."""

    thread_id: UUID
    ordinal: int
    text: str


async def fill(superuser_url: str, messages: Iterable[Said]) -> list[UUID]:
    """Stores the messages and returns their ids, in order; the last one is the newest."""
    connect: Any = asyncpg.connect  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # untyped
    connection: Any = await connect(superuser_url, timeout=10)
    ids: list[UUID] = []
    try:
        batch: list[Said] = []
        for message in messages:
            batch.append(message)
            if len(batch) == _BATCH:
                ids += await _store(connection, batch)
                batch.clear()
        ids += await _store(connection, batch)
        for table in ("messages", "message_parts", "message_words"):
            await connection.execute(f"analyze {table}")
    finally:
        await connection.close()
    return ids


async def make_threads(superuser_url: str, user_id: UUID, count: int) -> list[UUID]:
    """Empty threads of a user with their default agent."""
    connect: Any = asyncpg.connect  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # untyped
    connection: Any = await connect(superuser_url, timeout=10)
    made = [uuid7() for _ in range(count)]
    try:
        agent = await connection.fetchval("select id from agents where user_id = $1 and is_default", user_id)
        rows = [(id, user_id, agent, f"Thread {number}") for number, id in enumerate(made)]
        await connection.copy_records_to_table("threads", records=rows, columns=("id", "user_id", "agent_id", "title"))
        await connection.execute("analyze threads")
    finally:
        await connection.close()
    return made


async def _store(connection: Any, batch: list[Said]) -> list[UUID]:
    ids = sorted(uuid7() for _ in batch)  # those of one millisecond are in no order by themselves
    roles = ("user", "assistant")
    messages = [
        (id, said.thread_id, said.ordinal, roles[said.ordinal % 2]) for id, said in zip(ids, batch, strict=True)
    ]
    parts = [(id, 0, 0, "text", _part(said.text)) for id, said in zip(ids, batch, strict=True)]
    async with connection.transaction():
        await connection.copy_records_to_table(
            "messages", records=messages, columns=("id", "thread_id", "ordinal", "role")
        )
        await connection.copy_records_to_table(
            "message_parts", records=parts, columns=("message_id", "ordinal", "step", "kind", "data")
        )
    return ids


def _part(text: str) -> str:
    return orjson.dumps({"type": "text", "text": text, "state": "done"}).decode()
