"""How much a model had said when its runner died: what the log holds of it beyond the last commit.

An estimate for the ledger, and marked so. A log that does not answer leaves it unknown; nobody waits for it long.
"""

# nats-py types its keyword arguments loosely.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from uuid import UUID

import orjson
from nats.aio.client import Client
from nats.errors import Error as NatsError

from chassis import logs
from contracts.batches import Batch, unpack
from contracts.subjects import log_subject

log = logs.get(__name__)

PATIENCE = 1.0
"""Seconds for the whole log of a turn."""

_PAGE = 1000
_PIECES = {"text-delta": "delta", "reasoning-delta": "delta", "tool-input-delta": "inputTextDelta"}


async def streamed_tokens(client: Client, turn_id: UUID, epochs: Collection[int], beyond: int) -> dict[int, int]:
    """Tokens that each of these epochs streamed in batches beyond this number, four characters each."""
    characters = dict.fromkeys(epochs, 0)
    seen: set[tuple[int, int]] = set()
    try:
        async with asyncio.timeout(PATIENCE):
            async for batch in _stored(client, log_subject(turn_id)):
                if batch.id.epoch in characters and batch.id.number > beyond and batch.id not in seen:
                    seen.add(batch.id)  # one that was published again is there twice
                    characters[batch.id.epoch] += _said(batch.body)
    except (NatsError, OSError, TimeoutError, ValueError) as wrong:
        log.warning("what was streamed stays unknown", turn_id=str(turn_id), reason=f"{type(wrong).__name__}: {wrong}")
        return {}
    return {epoch: count // 4 for epoch, count in characters.items()}


async def _stored(client: Client, subject: str) -> AsyncIterator[Batch]:
    """Every batch of the log, read a page at a time, without a consumer: this happens once for a turn, if ever."""
    sequence, left = 1, 1
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox)
    try:
        while left:
            wish = {"next_by_subj": subject, "seq": sequence, "batch": _PAGE}
            await client.publish("$JS.API.DIRECT.GET.LOG", orjson.dumps(wish), reply=inbox)
            left = 0
            while (message := await subscription.next_msg(PATIENCE)).headers is None or message.data:
                told = message.headers or {}
                sequence = int(told["Nats-Sequence"]) + 1
                yield unpack(message.data)
            if message.headers.get("Status") not in ("204", "404"):
                raise ValueError(f"the log refused: {message.headers}")
            left = int(message.headers.get("Nats-Num-Pending", 0))
    finally:
        if client.is_connected:
            await subscription.unsubscribe()


def _said(body: bytes) -> int:
    """Characters of what a model said in a batch."""
    said = 0
    for line in body.split(b"\n"):
        if line.startswith(b"data: {"):
            chunk = orjson.loads(line[6:])
            said += len(chunk.get(_PIECES.get(chunk["type"], ""), ""))
    return said
