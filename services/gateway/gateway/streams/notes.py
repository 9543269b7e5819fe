"""What a gateway itself has to say in a stream: superseded text, a filled-in message, an end that the log lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

import orjson

from contracts import chunks
from contracts.batches import BatchId
from contracts.encoder import encode
from contracts.frames import event, frame
from store.turns import TurnState, is_tool
from store.turns.endings import call_result, closing_chunks, start_chunk

Chunk = dict[str, Any]
Part = dict[str, Any]

_CLOSED_BY = {"text-end": "text", "reasoning-end": "reasoning"}
_OPENED_BY = {"text-start": "text", "reasoning-start": "reasoning"}
_FINISH_REASONS = {"length": "length", "budget": "length", "client_tools": "tool-calls", "approval": "tool-calls"}


def superseded(epoch: int, cut: int, bodies: Iterable[bytes | None]) -> bytes:
    """The note for a reader who saw more than counts; `bodies` are the batches sent beyond the cut, in order.

    It ends what they left open, so that no client shows a cursor for ever, and names the parts that they began. Where
    the log never had a batch (none), nobody knows what it ended: an end too many is fatal to an SDK's client, a cursor
    is not.
    """
    opened: dict[tuple[str, str], None] = {}
    names: dict[str, None] = {}
    in_step = False
    for chunk in (chunk for body in bodies for chunk in _known(body, opened)):
        kind: str = chunk["type"]
        if family := _OPENED_BY.get(kind):
            opened[family, chunk["id"]] = None
            names[chunk.get("providerMetadata", {}).get("retinue", {}).get("part", chunk["id"])] = None
        elif family := _CLOSED_BY.get(kind):
            opened.pop((family, chunk["id"]), None)
        elif kind in ("tool-input-start", "tool-input-available"):
            names[chunk["toolCallId"]] = None
        elif "sourceId" in chunk:
            names[chunk["sourceId"]] = None
        elif kind in ("start-step", "finish-step"):
            in_step = kind == "start-step"
    said: list[Chunk] = [{"type": f"{family}-end", "id": id} for family, id in opened]
    if in_step:
        said.append(chunks.finish_step())
    said.append(chunks.superseded(epoch, cut, list(names)))
    return frame(said, BatchId(epoch, cut))


def _known(body: bytes | None, opened: dict[tuple[str, str], None]) -> Iterator[Chunk]:
    if body is None:
        opened.clear()
    else:
        yield from read_chunks(body)


def read_chunks(body: bytes) -> Iterator[Chunk]:
    """The chunks of a batch's bytes, `[DONE]` left out."""
    for said in body.split(b"\n\n"):
        for line in said.split(b"\n"):
            if line.startswith(b"data: {"):
                yield orjson.loads(line[6:])


def filled(state: TurnState, parts: Sequence[Part]) -> bytes:
    """The committed part of a message as one batch, under the position that follows from it."""
    said = [start_chunk(state.id, state.message_id), *encode(parts)]
    return frame(said, BatchId(state.epoch, state.commit.number))


def closed(state: TurnState, parts: Sequence[Part], *, begins: bool, repeats: bool) -> bytes:
    """The end as the row knows it. `begins`: nothing was sent before; `repeats`: results may have been missed."""
    said: list[Chunk] = [start_chunk(state.id, state.message_id)] if begins else []
    if repeats:
        said += [_result(part) for part in parts if is_tool(part) and part["state"].startswith("output-")]
    reason = _FINISH_REASONS.get(state.ended_by or "", "stop")
    said += closing_chunks(state.id, state.status, state.ended_by, state.error, reason, model=state.model)
    return frame(said, end_of(state), done=True)


def waits(turn_id: UUID, position: int | None) -> bytes:
    """Before the first batch only, and without an id: this turn has not begun."""
    about = {"status": "waiting", "position": position, "turn": str(turn_id)}
    return event(orjson.dumps(chunks.data("retinue-status", about, transient=True)))


def end_of(state: TurnState) -> BatchId:
    """The id of a final turn's end batch."""
    return BatchId(state.epoch, state.commit.number + 1)


def _result(part: Part) -> Chunk:
    said = call_result(part["toolCallId"], part.get("output"), part.get("errorText"))
    if part["type"] == "dynamic-tool":
        said["dynamic"] = True
    return said
