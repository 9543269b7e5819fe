"""Accepting, watching and stopping turns: what the native and the AI SDK routes share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from chassis.errors import Busy, Refused
from contracts.batches import START, BatchId
from contracts.hints import Hint
from contracts.turns import TurnStatus
from gateway.answers import invalid, missing
from gateway.parts import Parts
from gateway.quotas import accept_counted
from gateway.streams.log import LogAway
from gateway.streams.rows import TurnGone
from gateway.streams.streams import CannotContinue
from gateway.streams.viewer import Viewer
from gateway.throttle import REFUSED
from store.turns import (
    Accepted,
    KeyReused,
    MessageExists,
    QueueFull,
    ThreadBusy,
    ThreadMissing,
    TurnState,
    Wish,
    stop,
)

_QUEUES = {
    "thread": ("in this conversation", "RETINUE_TURNS_WAITING"),
    "user": ("in your conversations", "RETINUE_TURNS_WAITING_PER_USER"),
}

TurnQuery = Annotated[UUID | None, Query(description="The turn that is meant; without it the thread's current one.")]

STREAM: dict[int | str, dict[str, object]] = {
    200: {
        "description": "The turn's chunks, from `start` to `[DONE]`; docs/reference/stream.md",
        "headers": {"x-retinue-turn": {"description": "The turn that is shown.", "schema": {"type": "string"}}},
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


class TurnOut(BaseModel):
    """A turn that was accepted or asked to stop."""

    turn: UUID | None
    status: str | None


def wants_no_stream(request: Request) -> bool:
    """`Prefer: respond-async` (RFC 7240)."""
    preferences = request.headers.get("prefer", "").lower().replace(";", ",").split(",")
    return "respond-async" in (preference.strip() for preference in preferences)


async def accept_quietly(parts: Parts, wish: Wish) -> Response:
    """202 with the turn's id, for callers who look later."""
    async with refusals(parts.settings.turns_retry_after):
        accepted = await accept_counted(parts, wish)
    await _told(parts, wish.user_id, accepted)
    body = {"turn": str(accepted.turn_id), "status": accepted.status, "message": str(accepted.message_id)}
    headers = {"Preference-Applied": "respond-async", "x-retinue-turn": str(accepted.turn_id)}
    return JSONResponse(body, 202, headers)


async def accept_and_stream(parts: Parts, wish: Wish) -> Response:
    """The turn's stream, from its first byte on: listened to before the bus is told, so nothing is looked up.

    Subscribing takes a round trip to the broker and accepting several to Postgres: they go side by side.
    """
    beginning = asyncio.ensure_future(parts.streams.begin(wish.user_id, wish.turn_id))
    try:
        async with refusals(parts.settings.turns_retry_after):
            accepted = await accept_counted(parts, wish)
    except BaseException:
        parts.streams.end(await beginning)
        raise
    viewer = await beginning
    try:
        await _told(parts, wish.user_id, accepted)
        if accepted.is_new:
            return _begun(parts, viewer, accepted)
    except BaseException:
        parts.streams.end(viewer)
        raise
    parts.streams.end(viewer)
    return await watch(parts, wish.user_id, accepted.turn_id, START)


async def _told(parts: Parts, user_id: UUID, accepted: Accepted) -> None:
    """Runners and pages hear of what the door has let in; wake-ups carry the hint of a turn that is queued."""
    await parts.after_commit(accepted.outbox, accepted.stop)
    if accepted.is_new and accepted.status is TurnStatus.WAITING:
        parts.relay.hint(Hint.of_turn(user_id, accepted.thread_id, accepted.turn_id, accepted.status))


def _begun(parts: Parts, viewer: Viewer, accepted: Accepted) -> Response:
    if accepted.status == "waiting":
        viewer.look()  # to tell its place in the line
    return parts.streams.response(viewer)


async def watch(parts: Parts, user_id: UUID, turn_id: UUID, position: BatchId) -> Response:
    """A turn's stream from a position on: 204 if there is nothing more, 410 if the log does not go on from there."""
    async with refusals():
        viewer = await parts.streams.follow(user_id, turn_id, position)
    return Response(status_code=204) if viewer is None else parts.streams.response(viewer)


async def stop_turn(parts: Parts, user_id: UUID, thread_id: UUID, turn_id: UUID | None) -> TurnOut:
    """Idempotent; with a turn's id, a stop that comes too late touches no other."""
    async with refusals(), parts.store.session(user_id) as session:
        stopped = await stop(session, thread_id, turn_id, parts.settings.limits)
    await parts.after_commit(stopped.outbox, stopped.turn_id if stopped.signal else None)
    if stopped.turn_id is None:
        return TurnOut(turn=turn_id, status=None)
    return TurnOut(turn=stopped.turn_id, status="stopping" if stopped.signal else "stopped")


def position_of(request: Request, after: str | None) -> BatchId:
    """`?after=`, else `Last-Event-ID`, else the start. Raises `Refused`."""
    text = after if after is not None else request.headers.get("last-event-id", "")
    if not text:
        return START
    try:
        return BatchId.parse(text)
    except ValueError:
        raise invalid("after: a position is the id of an event, `<epoch>.<number>`.", field="after") from None


def in_thread(state: TurnState | None, thread_id: UUID) -> TurnState:
    """The turn, if it is one of this thread. Raises `Refused`."""
    if state is None or state.thread_id != thread_id:
        raise missing("turn")
    return state


def _too_many(full: QueueFull, retry_after: int) -> Refused:
    where, setting = _QUEUES[full.scope]
    REFUSED.labels(scope=f"queue-{full.scope}").inc()
    return Refused(
        429,
        "queue_full",
        f"{full.count} messages already wait {where}; try again when some of them are answered.",
        headers={"Retry-After": str(retry_after)},
        scope=full.scope,
        count=full.count,
        limit=full.limit,
        setting=setting,
        retry_after=retry_after,
    )


@asynccontextmanager
async def refusals(retry_after: int = 1) -> AsyncIterator[None]:
    """Turns what the door and the streams refuse into answers; `retry_after` seconds are for a queue that is full."""
    try:
        yield
    except ThreadMissing:
        raise missing("thread") from None
    except TurnGone:
        raise missing("turn") from None
    except ThreadBusy:
        message = "This conversation is being answered; wait, stop it, or send `busy: replace`."
        raise Refused(409, "thread_busy", message) from None
    except QueueFull as full:
        raise _too_many(full, retry_after) from None
    except KeyReused:
        message = "This idempotency key (or message id) was used for another request."
        raise Refused(422, "key_reused", message) from None
    except MessageExists:
        message = "A message with this id is already in the conversation."
        raise Refused(409, "message_exists", message) from None
    except CannotContinue:
        message = "The log does not go on from that position: drop what you show and ask again from the start."
        raise Refused(410, "cannot_continue", message) from None
    except LogAway:
        raise Busy("The message bus does not answer at the moment; try again.") from None
