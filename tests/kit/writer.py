"""A turn's writer for tests: claims and commits through the store and publishes batches as a runner would.

Tests decide what is published, what is lost, and what is stored; nothing here happens by itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from nats.aio.client import Client

from cli.bench.batches import Message
from contracts import chunks
from contracts.batches import START, BatchId, pack
from contracts.frames import frame
from contracts.ids import uuid7
from contracts.subjects import log_subject
from contracts.turns import TurnStatus
from store import Store
from store.outbox import OutboxMessage
from store.turns import AttemptResult, Claim, Ending, Limits, PartRow, claim, commit_model_call, end, open_attempt
from store.turns.endings import closing_chunks, end_batch, start_chunk

Chunk = dict[str, Any]


class Writer:
    """Holds one turn in one epoch."""

    def __init__(self, store: Store, bus: Client, held: Claim) -> None:
        self.held = held
        self.id = BatchId(held.epoch, held.commit.number)
        self.cut = held.commit
        self.sent: dict[BatchId, bytes] = {}
        self._store = store
        self._bus = bus
        self._parts = 0
        self.model = held.model

    @classmethod
    async def claim(cls, store: Store, bus: Client, user_id: UUID, turn_id: UUID) -> Writer:
        """Takes a queued turn, as a runner without a heartbeat that nobody sweeps."""
        async with store.session(user_id) as session:
            held = await claim(session, turn_id, uuid4())
        assert held is not None, "the turn is not queued"
        return cls(store, bus, held)

    @property
    def turn_id(self) -> UUID:
        return self.held.turn_id

    async def publish(self, *said: Chunk, store: bool = True, live: bool = True) -> BatchId:
        """The next batch. Not `live`: it is not sent at all yet (see `repeat`). Not `store`: the log refuses it."""
        self.id = BatchId(self.id.epoch, self.id.number + 1)
        message = pack(self.id, self.cut, frame(said, self.id))
        self.sent[self.id] = message
        await self._send(message, store=store, live=live)
        return self.id

    async def repeat(self, id: BatchId) -> None:
        """Publish a batch again, as after a lost acknowledgement."""
        await self._send(self.sent[id], store=True, live=True)

    async def start(self) -> BatchId:
        return await self.publish(start_chunk(self.turn_id, self.held.message_id))

    async def text(self, part: str, *pieces: str, **how: bool) -> list[BatchId]:
        """A step of one text part, a batch for each piece."""
        ids = [await self.publish(chunks.start_step(), chunks.text_start(part), **how)]
        ids += [await self.publish(chunks.text_delta(part, piece), **how) for piece in pieces]
        return ids

    async def close_text(self, part: str) -> BatchId:
        return await self.publish(chunks.text_end(part), chunks.finish_step())

    async def commit(self, parts: Sequence[Chunk]) -> None:
        """Everything published so far counts, and these parts are what it shows."""
        attempt = uuid7()
        rows = [PartRow(self._parts + n, 0, part["type"], part) for n, part in enumerate(parts)]
        self._parts += len(rows)
        async with self._store.session(self.held.user_id) as session:
            await open_attempt(session, self.held, attempt, step=self._parts, number=1, model="test/test")
        self.model = "test/test"
        result = AttemptResult(attempt, "done", "stop")
        async with self._store.session(self.held.user_id) as session:
            await commit_model_call(
                session, self.held, self.id, steps=self._parts, parts=rows, calls=(), attempt=result
            )

    async def end(
        self,
        status: TurnStatus = TurnStatus.FINISHED,
        ended_by: str = "reply",
        parts: Sequence[Chunk] = (),
        *,
        publish: bool = True,
    ) -> None:
        """The end transaction; its batch is published unless the log is to lose it."""
        id = BatchId(self.id.epoch, self.id.number + 1)
        batch = end_batch(id, self.cut, closing_chunks(self.turn_id, status, ended_by, model=self.model))
        rows = [PartRow(self._parts + n, 0, part["type"], part) for n, part in enumerate(parts)]
        ending = Ending(status, ended_by, self.id, batch, parts=rows, limits=Limits(1000, 1000))
        async with self._store.session(self.held.user_id) as session:
            outbox = await end(session, self.held, ending)
        if publish:
            await self.relay(outbox)

    async def relay(self, messages: Sequence[OutboxMessage]) -> None:
        await relay(self._bus, messages)

    async def _send(self, message: bytes, *, store: bool, live: bool) -> None:
        subject = log_subject(self.turn_id)
        if store and live:
            await self._bus.jetstream().publish(subject, message)
        elif live:
            # The log does not keep a message that expects another last sequence; listeners on the subject get it.
            await self._bus.publish(subject, message, headers={"Nats-Expected-Last-Sequence": "999999999"})
            await self._bus.flush()


async def relay(bus: Client, messages: Sequence[OutboxMessage]) -> None:
    for message in messages:
        await bus.jetstream().publish(message.subject, message.payload, headers={"Nats-Msg-Id": str(message.id)})


def texts(message: Message) -> list[str]:
    """What a reader has, by part."""
    return [part["text"] for part in message.reducer.parts if part["type"] == "text"]


def text_part(part: str, text: str) -> Chunk:
    """The stored form of a text part."""
    return {
        "type": "text",
        "text": text,
        "providerMetadata": {"retinue": {"part": part}},
        "state": "done",
    }


STEP = {"type": "step-start"}


async def purge(bus: Client, turn_id: UUID, *, keep: int = 0, up_to: int | None = None) -> None:
    """Take a turn's batches out of the log, as its limits would. `up_to`: those before this stream sequence."""
    request: dict[str, Any] = {"filter": log_subject(turn_id)}
    if keep:
        request["keep"] = keep
    if up_to is not None:
        request["seq"] = up_to
    answer = json.loads((await bus.request("$JS.API.STREAM.PURGE.LOG", json.dumps(request).encode(), timeout=5)).data)
    assert answer.get("success"), answer


__all__ = ["START", "STEP", "Writer", "purge", "relay", "text_part"]
