"""Threads: made, listed, renamed, put away; and their messages in pages."""

from __future__ import annotations

import base64
import binascii
import struct
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gateway.answers import invalid, missing
from gateway.http import Routes
from gateway.parts import CallerOf, PartsOf
from store import Session
from store.outbox import OutboxMessage
from store.repositories import agents, messages, threads
from store.repositories.threads import BadCursor, ThreadInfo
from store.turns import door
from store.turns.promotion import Limits

routes = Routes("threads")

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Before = Annotated[str | None, Query(max_length=200, description="The `next_cursor` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=200, description="Entries on a page at most.")]


class ThreadWish(BaseModel):
    agent_id: UUID | None = Field(default=None, description="Whom to talk to; the default agent if left out.")
    title: Title | None = None


class ThreadChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: Title | None = Field(None, description="A new title; null takes it away.")
    archived: bool | None = Field(None, description="Put away, or bring back. Putting away stops what runs.")


class ThreadOut(BaseModel):
    id: UUID
    agent_id: UUID
    channel: str
    title: str | None
    preview: str | None
    created_at: datetime
    touched_at: datetime
    archived: bool
    status: Literal["waiting", "queued", "running", "failed"] | None = Field(
        description="What its turns are doing; `failed` if the newest one did."
    )


class ThreadPage(BaseModel):
    items: list[ThreadOut]
    next_cursor: str | None


class MessageOut(BaseModel):
    """A message in the AI SDK's `UIMessage` shape."""

    id: str
    role: Literal["system", "user", "assistant"]
    metadata: dict[str, Any] | None = Field(
        None, description="The client's own; in answers `retinue` with turn, status, and ended_by and error if any."
    )
    parts: list[dict[str, Any]]


class MessagePage(BaseModel):
    items: list[MessageOut]
    next_cursor: str | None


@routes.get("/api/threads", scope="read")
async def list_threads(
    caller: CallerOf, parts: PartsOf, before: Before = None, limit: Limit = 50, archived: bool = False
) -> ThreadPage:
    """Your threads, the most recently touched first."""
    async with parts.store.session(caller.user_id) as session:
        try:
            found, cursor = await threads.page(session, before=before, limit=limit, archived=archived)
        except BadCursor:
            raise _bad_cursor() from None
    return ThreadPage(items=[_shown(thread) for thread in found], next_cursor=cursor)


@routes.post("/api/threads", scope="chat", status_code=201, errors=(404,))
async def create_thread(caller: CallerOf, parts: PartsOf, wish: ThreadWish | None = None) -> ThreadOut:
    """A new, empty thread."""
    wish = wish or ThreadWish()
    async with parts.store.session(caller.user_id) as session:
        agent_id = await agents.resolve(session, wish.agent_id)
        if agent_id is None:
            raise missing("agent")
        thread_id = await threads.create(session, user_id=caller.user_id, agent_id=agent_id, title=wish.title)
        return await _thread(session, thread_id)


@routes.get("/api/threads/{thread_id}", scope="read", errors=(404,))
async def get_thread(thread_id: UUID, caller: CallerOf, parts: PartsOf) -> ThreadOut:
    """One thread, archived or not."""
    async with parts.store.session(caller.user_id) as session:
        return await _thread(session, thread_id)


@routes.patch("/api/threads/{thread_id}", scope="chat", errors=(404,))
async def change_thread(thread_id: UUID, change: ThreadChange, caller: CallerOf, parts: PartsOf) -> ThreadOut:
    """Renames a thread, puts it away or brings it back."""
    rows: list[OutboxMessage] = []
    stop: UUID | None = None
    async with parts.store.session(caller.user_id) as session:
        await _thread(session, thread_id)
        if change.archived is not None:
            rows, stop = await _put_away(session, thread_id, change.archived, parts.settings.limits)
        if "title" in change.model_fields_set:
            await threads.rename(session, thread_id, change.title)
        changed = await _thread(session, thread_id)
    await parts.after_commit(rows, stop)
    return changed


@routes.delete("/api/threads/{thread_id}", scope="chat", status_code=204, errors=(404,))
async def delete_thread(thread_id: UUID, caller: CallerOf, parts: PartsOf) -> None:
    """Puts a thread away; what runs in it is stopped. PATCH with `archived: false` brings it back."""
    async with parts.store.session(caller.user_id) as session:
        await _thread(session, thread_id)
        rows, stop = await _put_away(session, thread_id, True, parts.settings.limits)
    await parts.after_commit(rows, stop)


@routes.get("/api/threads/{thread_id}/messages", scope="read", errors=(404,), response_model_exclude_unset=True)
async def list_messages(
    thread_id: UUID, caller: CallerOf, parts: PartsOf, before: Before = None, limit: Limit = 50
) -> MessagePage:
    """The newest messages, oldest first; a running turn's message is last, with its committed parts."""
    ordinal = None if before is None else _read_ordinal(before)
    async with parts.store.session(caller.user_id) as session:
        await _thread(session, thread_id)
        items, older = await messages.page(session, thread_id, ordinal, limit)
    return MessagePage.model_construct(
        items=[MessageOut.model_construct(**item) for item in items],
        next_cursor=None if older is None else _ordinal_cursor(older),
    )


async def _thread(session: Session, thread_id: UUID) -> ThreadOut:
    found = await threads.get(session, thread_id)
    if found is None:
        raise missing()
    return _shown(found)


async def _put_away(
    session: Session, thread_id: UUID, archived: bool, limits: Limits
) -> tuple[list[OutboxMessage], UUID | None]:
    """In one transaction with the archiving: nothing goes on in a thread that nobody sees."""
    if not archived:
        await threads.unarchive(session, thread_id)
        return [], None
    rows: list[OutboxMessage] = []
    stopped = await door.stop(session, thread_id, None, limits)
    while stopped.turn_id is not None and not stopped.signal:
        rows += stopped.outbox
        stopped = await door.stop(session, thread_id, None, limits)
    await threads.archive(session, thread_id)
    return rows, stopped.turn_id


def _shown(thread: ThreadInfo) -> ThreadOut:
    return ThreadOut.model_validate({**_fields(thread), "archived": thread.is_archived})


def _fields(thread: ThreadInfo) -> dict[str, Any]:
    return {name: getattr(thread, name) for name in ThreadInfo.__slots__}


def _bad_cursor() -> Exception:
    return invalid("before: this cursor is none of ours.", field="before")


_ORDINAL = struct.Struct("!BI")  # version, ordinal of the oldest message shown


def _ordinal_cursor(ordinal: int) -> str:
    return base64.urlsafe_b64encode(_ORDINAL.pack(1, ordinal)).decode().rstrip("=")


def _read_ordinal(cursor: str) -> int:
    try:
        version, ordinal = _ORDINAL.unpack(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
    except (binascii.Error, struct.error, ValueError):
        raise _bad_cursor() from None
    if version != 1 or ordinal >= 1 << 31:
        raise _bad_cursor()
    return ordinal
