"""A turn-runner process of one's own on the shared servers, and the other side of it: the door and the log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from nats.aio.client import Client
from sqlalchemy import text

from bus.connection import connect
from bus.publish import publish_stored
from contracts.batches import Batch, unpack
from contracts.ids import uuid7
from contracts.reducer import Reducer
from contracts.subjects import log_subject, stop_subject
from store import Store, turns
from store.repositories import messages
from tests.kit.stack import QUIET, Servers

LIMITS = turns.Limits()
_ROOT = Path(__file__).parents[2]


@contextmanager
def runner_on(
    servers: Servers,
    env: Mapping[str, str] | None = None,
    number: int = 1,
    module: str = "turn_runner.main",
    log: IO[bytes] | None = None,
) -> Iterator[subprocess.Popen]:
    """Start `python -m MODULE` as the supervisor would; it is ready when it claims. `log`: where it writes."""
    environment = os.environ | QUIET | servers.env_of("turn_runner", number) | {"RETINUE_HEALTH_PORT": "0"}
    environment |= {"RETINUE_LOG_FORMAT": "text", "RETINUE_STOP_GRACE": "5"} | dict(env or {})
    process = subprocess.Popen([sys.executable, "-m", module], env=environment, cwd=_ROOT, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


@dataclass
class Told:
    """What a turn's log said until its end."""

    batches: list[Batch] = field(default_factory=list)

    @property
    def chunks(self) -> list[dict[str, Any]]:
        return [chunk for batch in self.batches for chunk in chunks_of(batch.body)]

    @property
    def message(self) -> dict[str, Any]:
        reducer = Reducer()
        for chunk in self.chunks:
            reducer.apply(chunk) if chunk["type"] not in ("error", "abort") else None
        return reducer.message


def chunks_of(body: bytes) -> list[dict[str, Any]]:
    lines = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


class Door:
    """Somebody with an account and a thread, who knocks at the door as the gateway does and reads the log."""

    def __init__(self, store: Store, client: Client, listener: Client) -> None:
        self.store = store
        self.client = client
        self.listener = listener
        self.user_id = uuid7()
        self.agent_id = uuid7()

    @classmethod
    async def opened(cls, servers: Servers) -> Door:
        store = Store(servers.role_url("gateway"), servers.role_url("gateway_system"), name="test-door")
        listener = await connect(servers.nats_url("admin"), "test-listener")
        door = cls(store, await connect(servers.nats_url("gateway"), "test-door"), listener)
        async with store.session(door.user_id) as session:
            await session.execute(
                text("insert into users (id, username, username_key, password_hash) values (:id, :name, :name, 'x')"),
                {"id": door.user_id, "name": str(door.user_id)},
            )
            await session.execute(
                text("insert into agents (id, user_id, name) values (:id, :user, 'Ada')"),
                {"id": door.agent_id, "user": door.user_id},
            )
        return door

    async def close(self) -> None:
        await self.client.close()
        await self.listener.close()
        await self.store.dispose()

    async def thread(self) -> UUID:
        thread_id = uuid7()
        async with self.store.session(self.user_id) as session:
            await session.execute(
                text("insert into threads (id, user_id, agent_id) values (:id, :user, :agent)"),
                {"id": thread_id, "user": self.user_id, "agent": self.agent_id},
            )
        return thread_id

    async def say(self, thread_id: UUID, words: str, **wish: Any) -> turns.Accepted:
        wanted = turns.Wish(self.user_id, thread_id, [{"type": "text", "text": words}], **wish)
        async with self.store.session(self.user_id) as session:
            accepted = await turns.accept(session, wanted, LIMITS)
        for row in accepted.outbox:
            await publish_stored(self.client, row.subject, row.payload, row.id, row.headers)
        if accepted.stop:
            await self.client.publish(stop_subject(accepted.stop))
        return accepted

    async def stop(self, thread_id: UUID, turn_id: UUID | None = None) -> turns.Stopped:
        async with self.store.session(self.user_id) as session:
            stopped = await turns.stop(session, thread_id, turn_id, LIMITS)
        for row in stopped.outbox:
            await publish_stored(self.client, row.subject, row.payload, row.id, row.headers)
        if stopped.signal and stopped.turn_id:
            await self.client.publish(stop_subject(stopped.turn_id))
        return stopped

    async def hear(self, turn_id: UUID, *, timeout: float = 20) -> Told:
        """The whole log of a turn, in order, until its end batch; dead epochs are left out."""
        told = Told()
        seen: dict[tuple[int, int], Batch] = {}
        subscription = await self.listen(turn_id)
        try:
            while True:
                batch = unpack((await subscription.next_msg(timeout)).data)
                seen[batch.id] = batch
                if batch.is_end:
                    break
        finally:
            await subscription.unsubscribe()
        told.batches = counting(list(seen.values()))
        return told

    async def listen(self, turn_id: UUID) -> Any:
        """A subscription to a turn's log, from its beginning."""
        return await self.listener.jetstream().subscribe(log_subject(turn_id), ordered_consumer=True)

    async def stored(self, thread_id: UUID) -> list[dict[str, Any]]:
        async with self.store.session(self.user_id) as session:
            return (await messages.page(session, thread_id))[0]

    async def rows(self, statement: str, **parameters: Any) -> list[Any]:
        async with self.store.session(self.user_id) as session:
            return list((await session.execute(text(statement), parameters)).all())


def counting(batches: list[Batch]) -> list[Batch]:
    """The batches that count, in order: each epoch's, up to the cut of every later one."""
    cuts = {batch.id.epoch: batch.cut for batch in batches}
    counts = [
        batch
        for batch in batches
        if all(batch.id.number <= cut.number for epoch, cut in cuts.items() if epoch > batch.id.epoch)
    ]
    return sorted(counts, key=lambda batch: batch.id.number)
