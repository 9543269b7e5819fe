"""Threads: made, listed, changed, put away, deleted and brought back; and their messages in pages."""

from __future__ import annotations

import base64
import binascii
import struct
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from contracts.hints import Hint
from gateway.answers import invalid, missing
from gateway.auth import Caller
from gateway.http import Routes
from gateway.parts import CallerOf, Parts, PartsOf
from store import Session
from store.outbox import OutboxMessage
from store.repositories import agents, messages, threads
from store.repositories.messages import Window
from store.repositories.threads import BadCursor, ThreadInfo
from store.turns import door
from store.turns.promotion import Limits

routes = Routes("threads")

_PLAIN = {"title", "model", "effort"}

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Before = Annotated[str | None, Query(max_length=200, description="The `next_cursor` of the page before.")]
After = Annotated[str | None, Query(max_length=200, description="The `newer_cursor` of the page before.")]
Around = Annotated[str | None, Query(max_length=200, description="A message's id: the page that it stands on.")]
Limit = Annotated[int, Query(ge=1, le=200, description="Entries on a page at most.")]


class ThreadWish(BaseModel):
    agent_id: UUID | None = Field(default=None, description="Whom to talk to; the default agent if left out.")
    title: Title | None = None
    model: Name | None = Field(default=None, description="What answers here, instead of the agent's model.")
    effort: Name | None = Field(default=None, description="How hard it shall think, instead of the agent's effort.")


class ThreadChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: Title | None = Field(None, description="A new title; null takes it away.")
    archived: bool | None = Field(None, description="Put away, or bring back. Putting away stops what runs.")
    model: Name | None = Field(None, description="What answers from the next message on; null: the agent's model.")
    effort: Name | None = Field(None, description="How hard it shall think; null: the agent's effort.")
    deleted: Literal[False] | None = Field(None, description="false brings a deleted thread back.")


class ThreadOut(BaseModel):
    id: UUID
    agent_id: UUID
    channel: str
    title: str | None
    preview: str | None
    created_at: datetime
    touched_at: datetime
    archived: bool
    model: str | None
    effort: str | None
    deleted: bool = Field(description="In no list any more; RETINUE_THREADS_KEEP_DELETED says for how long it is kept.")
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
    next_cursor: str | None = Field(description="`before` this for older messages; null at the beginning.")
    newer_cursor: str | None = Field(None, description="`after` this for newer messages; null at the end.")


@routes.get("/api/threads", scope="read", errors=(404,))
async def list_threads(
    caller: CallerOf,
    parts: PartsOf,
    before: Before = None,
    limit: Limit = 50,
    archived: bool = False,
    deleted: Annotated[bool, Query(description="Those that may still be brought back, and no others.")] = False,
    agent_id: Annotated[UUID | None, Query(description="Only those of this agent.")] = None,
) -> ThreadPage:
    """Your threads, the most recently touched first."""
    wanted: dict[str, Any] = {"archived": archived, "deleted": deleted, "agent_id": agent_id}
    async with parts.store.session(caller.user_id) as session:
        if agent_id is not None and await agents.get(session, agent_id) is None:
            raise missing("agent")
        try:
            found, cursor = await threads.page(session, before=before, limit=limit, **wanted)
        except BadCursor:
            raise _bad_cursor() from None
    return ThreadPage(items=[shown(thread) for thread in found], next_cursor=cursor)


@routes.post("/api/threads", scope="chat", status_code=201, errors=(404,))
async def create_thread(caller: CallerOf, parts: PartsOf, wish: ThreadWish | None = None) -> ThreadOut:
    """A new, empty thread."""
    wish = wish or ThreadWish()
    async with parts.store.session(caller.user_id) as session:
        agent_id = await agents.resolve(session, wish.agent_id)
        if agent_id is None:
            raise missing("agent")
        chosen: dict[str, Any] = {"title": wish.title, "model": wish.model, "effort": wish.effort}
        thread_id = await threads.create(session, user_id=caller.user_id, agent_id=agent_id, **chosen)
        made = await _thread(session, thread_id)
    _tell(parts, caller, thread_id)
    return made


@routes.get("/api/threads/{thread_id}", scope="read", errors=(404,))
async def get_thread(thread_id: UUID, caller: CallerOf, parts: PartsOf) -> ThreadOut:
    """One thread, archived or not, also while it may still be brought back."""
    async with parts.store.session(caller.user_id) as session:
        return await _thread(session, thread_id)


@routes.patch("/api/threads/{thread_id}", scope="chat", errors=(404,))
async def change_thread(thread_id: UUID, change: ThreadChange, caller: CallerOf, parts: PartsOf) -> ThreadOut:
    """Renames a thread, chooses what answers in it, puts it away or brings it back."""
    rows: list[OutboxMessage] = []
    stop: UUID | None = None
    async with parts.store.session(caller.user_id) as session:
        found = await _thread(session, thread_id)
        if change.deleted is False:
            await threads.restore(session, thread_id)
        elif found.deleted:
            raise missing()
        if change.archived:
            rows, stop = await _stop_all(session, thread_id, parts.settings.limits)
            await threads.archive(session, thread_id)
        elif change.archived is False:
            await threads.unarchive(session, thread_id)
        await threads.change(session, thread_id, change.model_dump(include=_PLAIN & change.model_fields_set))
        changed = await _thread(session, thread_id)
    await parts.after_commit(rows, stop)
    _tell(parts, caller, thread_id)
    return changed


@routes.delete("/api/threads/{thread_id}", scope="chat", status_code=204, errors=(404,))
async def delete_thread(thread_id: UUID, caller: CallerOf, parts: PartsOf) -> None:
    """Deletes a thread; what runs in it is stopped. PATCH with `deleted: false` brings it back, for a while
    (RETINUE_THREADS_KEEP_DELETED). Safe to repeat.
    """
    async with parts.store.session(caller.user_id) as session:
        await _thread(session, thread_id)
        rows, stop = await _stop_all(session, thread_id, parts.settings.limits)
        await threads.delete(session, thread_id)
    await parts.after_commit(rows, stop)
    _tell(parts, caller, thread_id)


@routes.get("/api/threads/{thread_id}/messages", scope="read", errors=(404,), response_model_exclude_unset=True)
async def list_messages(
    thread_id: UUID,
    caller: CallerOf,
    parts: PartsOf,
    before: Before = None,
    after: After = None,
    around: Around = None,
    limit: Limit = 50,
) -> MessagePage:
    """The newest messages, oldest first; a running turn's message is last, with its committed parts.

    `around` gives those about one message instead, `after` those that follow: with either, `newer_cursor` leads on to
    the end.
    """
    if sum(each is not None for each in (before, after, around)) > 1:
        raise invalid("before, after, around: one of them at a time.", field="around")
    async with parts.store.session(caller.user_id) as session:
        await _thread(session, thread_id)
        window = await _window(session, thread_id, before, after, around, limit)
    return MessagePage.model_construct(
        items=[MessageOut.model_construct(**item) for item in window.items],
        next_cursor=_ordinal_cursor(window.older),
        newer_cursor=_ordinal_cursor(window.newer),
    )


async def _window(
    session: Session, thread_id: UUID, before: str | None, after: str | None, around: str | None, limit: int
) -> Window:
    if around is not None:
        window = await messages.page_around(session, thread_id, around, limit)
        if window is None:
            raise missing("message")
        return window
    if after is not None:
        return await messages.page_after(session, thread_id, _read_ordinal(after, "after"), limit)
    ordinal = None if before is None else _read_ordinal(before, "before")
    items, older = await messages.page(session, thread_id, ordinal, limit)
    return Window(items, older, None)


async def _thread(session: Session, thread_id: UUID) -> ThreadOut:
    found = await threads.get(session, thread_id)
    if found is None:
        raise missing()
    return shown(found)


async def _stop_all(session: Session, thread_id: UUID, limits: Limits) -> tuple[list[OutboxMessage], UUID | None]:
    """In one transaction with the putting away: nothing goes on in a thread that nobody sees."""
    rows: list[OutboxMessage] = []
    stopped = await door.stop(session, thread_id, None, limits)
    while stopped.turn_id is not None and not stopped.signal:
        rows += stopped.outbox
        stopped = await door.stop(session, thread_id, None, limits)
    return rows, stopped.turn_id


def _tell(parts: Parts, caller: Caller, thread_id: UUID) -> None:
    parts.relay.hint(Hint.of_thread(caller.user_id, thread_id))


def shown(thread: ThreadInfo) -> ThreadOut:
    return ThreadOut.model_validate({**_fields(thread), "archived": thread.is_archived, "deleted": thread.is_deleted})


def _fields(thread: ThreadInfo) -> dict[str, Any]:
    return {name: getattr(thread, name) for name in ThreadInfo.__slots__}


def _bad_cursor(field: str = "before") -> Exception:
    return invalid(f"{field}: this cursor is none of ours.", field=field)


_ORDINAL = struct.Struct("!BI")  # version, ordinal of the last message shown on that side


def _ordinal_cursor(ordinal: int | None) -> str | None:
    return None if ordinal is None else base64.urlsafe_b64encode(_ORDINAL.pack(1, ordinal)).decode().rstrip("=")


def _read_ordinal(cursor: str, field: str) -> int:
    try:
        version, ordinal = _ORDINAL.unpack(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
    except (binascii.Error, struct.error, ValueError):
        raise _bad_cursor(field) from None
    if version != 1 or ordinal >= 1 << 31:
        raise _bad_cursor(field)
    return ordinal
