"""The one door: whoever wants an answer (browser, Telegram, clock) comes through `accept`.

One transaction locks the thread, stores the message, inserts the turn, promotes, and writes the wake-up to the
outbox. Only then is anything answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

import orjson
from sqlalchemy import text

from contracts.ids import uuid7
from contracts.sizes import refuse_large
from contracts.turns import ACTIVE, TurnStatus
from store import outbox
from store.outbox import OutboxMessage
from store.store import Session
from store.turns.closing import close_turn
from store.turns.errors import KeyReused, MessageExists, QueueFull, ThreadBusy, ThreadMissing
from store.turns.promotion import COUNT_ROOM, USER_LOCK, Limits, Room, fill, promote, room

Busy = Literal["replace", "queue", "reject"]


@dataclass(frozen=True, slots=True)
class Wish:
    """A message and what should happen to it."""

    user_id: UUID
    thread_id: UUID
    parts: list[dict[str, Any]]
    """The user message's parts, in the AI SDK's shapes."""
    turn_id: UUID = field(default_factory=uuid7)
    """Made by the caller, so that it can listen to the log before anything is written to it."""
    client_message_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    busy: Busy = "replace"
    channel: str = "web"
    idempotency_key: str | None = None
    request_hash: bytes | None = None
    traceparent: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    turn_id: UUID
    thread_id: UUID
    message_id: UUID
    """The message that the turn will write."""
    status: TurnStatus
    is_new: bool
    """False if the idempotency key named an earlier turn, which this is."""
    stop: UUID | None = None
    """A running turn that was asked to stop: say so on `ctl.stop.<turn>` after the commit."""
    outbox: list[OutboxMessage] = field(default_factory=list[OutboxMessage])


@dataclass(frozen=True, slots=True)
class Stopped:
    turn_id: UUID | None
    """The turn that was asked to stop; none if nothing was unfinished."""
    signal: bool = False
    """It is running: say so on `ctl.stop.<turn>` after the commit."""
    outbox: list[OutboxMessage] = field(default_factory=list[OutboxMessage])


_UNFINISHED_STATES = frozenset({TurnStatus.WAITING, *ACTIVE})

_LOCK_THREAD = text("select user_id, agent_id from threads where id = :thread for no key update")

# Locks the row, and then the user; says that the thread was used. The first words name it until there is a title.
_USE_THREAD = text(f"""
    update threads set touched_at = clock_timestamp(), archived_at = null, title = coalesce(title, :title)
    where id = :thread and deleted_at is null
    returning agent_id, {USER_LOCK}
""")  # noqa: S608 - a constant of ours

# What is unfinished in the thread, and the turn that the key names, if there is one, wherever it is; beside each row,
# or alone if there is none, what room the user has. Only this thread's rows are locked, so that no runner claims or
# commits between the look and what follows from it: others' rows may be held by somebody who waits for the user.
_TURN = """
    select id, thread_id, message_id, status, busy, request_hash,
        coalesce(idempotency_key = :key, false) as is_named,
        accepted_at < clock_timestamp() - interval '24 hours' as has_expired, accepted_at
    from turns
"""

_STANDING = text(f"""
    with here as (
        {_TURN} where thread_id = :thread and status in ('waiting', 'queued', 'running')
        order by accepted_at, id for no key update
    ), standing as (
        select * from here
        union all
        ({_TURN} where user_id = :user and idempotency_key = :key and id not in (select id from here))
    ), room as ({COUNT_ROOM})
    select standing.*, room.* from room left join standing on true order by standing.accepted_at, standing.id
""")  # noqa: S608 - constants of ours

_EXPIRE_KEY = text("update turns set idempotency_key = null where id = :turn")

_UNFINISHED = text("""
    select id, status, busy from turns
    where thread_id = :thread and status in ('waiting', 'queued', 'running') order by accepted_at, id
    for no key update  -- so that no runner claims or commits between the look and what follows from it
""")

_INSERT = text("""
    with made as (
    insert into messages (id, thread_id, ordinal, role, client_id, data)
    select m.id, :thread, n.next + m.place, m.role, m.client_id, cast(m.data as jsonb)
    from (select coalesce(max(ordinal), -1) + 1 as next from messages where thread_id = :thread) n,
         (values (cast(:question as uuid), 0, 'user', cast(:client_id as text), cast(:data as text)),
                 (cast(:answer as uuid), 1, 'assistant', null, '{}')) m(id, place, role, client_id, data)
    on conflict (thread_id, client_id) do nothing
    returning id
    ), asked as (
    insert into turns (id, user_id, thread_id, agent_id, message_id, question_id, channel, busy, idempotency_key,
        request_hash, traceparent, model, status, queued_at)
    select :turn, :user, :thread, :agent, :answer, :question, :channel, :busy, :key, :hash, :traceparent, :model,
        :status, case when :status = 'queued' then clock_timestamp() end
    where (select count(*) from made) = 2
    on conflict (user_id, idempotency_key) where idempotency_key is not null do nothing
    returning id
    )
    select (select count(*) from made) as messages, (select count(*) from asked) as turns
""")

# A statement of its own: the policy of parts looks for their message, and sees it once it has been inserted.
_PARTS = """
    insert into message_parts (message_id, ordinal, step, kind, data)
    select :question, p.place - 1, 0, p.data->>'type', p.data
    from json_array_elements(cast(:parts as json)) with ordinality p(data, place)
"""

_SAY = text(_PARTS)

_SAY_AND_TELL = text(f"""
    with said as ({_PARTS})
    insert into outbox (id, subject, payload, headers) values (:id, :subject, :payload, cast(:headers as jsonb))
""")  # noqa: S608 - a constant of ours

_ASK_TO_STOP = text("""
    update turns set stop_requested_at = clock_timestamp(), ended_by = :by
    where id = :turn and status = 'running' and stop_requested_at is null
""")


async def accept(session: Session, wish: Wish, limits: Limits) -> Accepted:
    """Accepts a message: after the commit it is answered or visibly failed, whichever process dies.

    Raises `ThreadMissing`, `ThreadBusy`, `QueueFull`, `KeyReused` or `MessageExists`; nothing is stored then.
    """
    use = {"thread": wish.thread_id, "title": first_words(wish.parts), "user": str(wish.user_id)}
    thread = (await session.execute(_USE_THREAD, use)).one_or_none()
    if thread is None:
        raise ThreadMissing
    looked = {"thread": wish.thread_id, "user": wish.user_id, "key": wish.idempotency_key}
    looked |= {"per_user": limits.per_user, "total": limits.total}
    found = (await session.execute(_STANDING, looked)).all()
    left, standing = Room.of(found[0], limits), [row for row in found if row.id is not None]
    if earlier := await _earlier(session, wish, standing):
        return earlier
    unfinished = [row for row in standing if row.thread_id == wish.thread_id and row.status in _UNFINISHED_STATES]
    messages, stopping = await _make_way(session, wish, unfinished, limits)
    if unfinished:
        left = await room(session, wish.user_id, wish.thread_id, limits, is_locked=True)
    queued: dict[UUID, OutboxMessage] = {}
    if left.free > 0 and not left.here and not any(row.status in ACTIVE for row in unfinished):
        queued[wish.turn_id] = outbox.wake_up(wish.user_id, wish.thread_id, wish.turn_id, wish.traceparent)
        left.take()
    elif left.waiting >= limits.waiting_per_user:
        raise QueueFull("user", left.waiting, limits.waiting_per_user)
    else:
        left.here += 1
    status = TurnStatus.QUEUED if queued else TurnStatus.WAITING
    question_id, answer_id = await _insert(session, wish, thread.agent_id, status)
    queued |= await fill(session, wish.user_id, wish.thread_id, left)
    messages += queued.values()
    await _say(session, question_id, wish.parts, messages)
    status = TurnStatus.QUEUED if wish.turn_id in queued else TurnStatus.WAITING
    return Accepted(wish.turn_id, wish.thread_id, answer_id, status, True, stopping, messages)


async def _earlier(session: Session, wish: Wish, standing: Sequence[Any]) -> Accepted | None:
    row = next((row for row in standing if row.is_named), None)
    if row is None:
        return None
    if row.has_expired:
        await session.execute(_EXPIRE_KEY, {"turn": row.id})
        return None
    if row.request_hash != wish.request_hash:
        raise KeyReused
    return Accepted(row.id, row.thread_id, row.message_id, TurnStatus(row.status), False)


async def _make_way(
    session: Session, wish: Wish, unfinished: Sequence[Any], limits: Limits
) -> tuple[list[OutboxMessage], UUID | None]:
    """Applies the busy policy to what is unfinished; returns outbox messages and the running turn asked to stop."""
    if not unfinished:
        return [], None
    if wish.busy == "reject":
        raise ThreadBusy
    if wish.busy == "queue":
        waiting = sum(row.status == TurnStatus.WAITING for row in unfinished)
        if waiting >= limits.waiting_per_thread:
            raise QueueFull("thread", waiting, limits.waiting_per_thread)
        return [], None
    messages: list[OutboxMessage] = []
    stopping: UUID | None = None
    for row in unfinished:
        if row.status == TurnStatus.RUNNING:
            await session.execute(_ASK_TO_STOP, {"turn": row.id, "by": "replaced"})
            stopping = row.id
        elif row.status == TurnStatus.QUEUED or row.busy == "replace":
            messages += await close_turn(session, row.id, TurnStatus(row.status), TurnStatus.STOPPED, "replaced")
    return messages, stopping


async def _insert(session: Session, wish: Wish, agent_id: UUID, status: TurnStatus) -> tuple[UUID, UUID]:
    """The question's id and the answer's."""
    question_id, answer_id = uuid7(), uuid7()
    inserted = await session.execute(
        _INSERT,
        {
            "thread": wish.thread_id,
            "question": question_id,
            "answer": answer_id,
            "client_id": wish.client_message_id,
            "data": orjson.dumps(wish.metadata).decode(),
            "turn": wish.turn_id,
            "user": wish.user_id,
            "agent": agent_id,
            "channel": wish.channel,
            "busy": wish.busy,
            "key": wish.idempotency_key,
            "hash": wish.request_hash,
            "traceparent": wish.traceparent,
            "model": wish.model,
            "status": status.value,
        },
    )
    made = inserted.one()
    if made.messages < 2:
        raise MessageExists
    if made.turns < 1:
        raise KeyReused  # the same key came through another thread at the same moment
    return question_id, answer_id


async def _say(
    session: Session, question_id: UUID, parts: Sequence[dict[str, Any]], messages: Sequence[OutboxMessage]
) -> None:
    """The message's parts and what the bus is told: one statement where there is one thing to tell, as mostly."""
    said = {"question": question_id, "parts": orjson.dumps(parts).decode()}
    if len(messages) != 1:
        await session.execute(_SAY, said)
        await outbox.write(session, messages)
        return
    (message,) = messages
    refuse_large(message.subject, message.payload)
    headers = orjson.dumps(message.headers).decode()
    told = {"id": message.id, "subject": message.subject, "payload": message.payload, "headers": headers}
    await session.execute(_SAY_AND_TELL, said | told)


def first_words(parts: Sequence[dict[str, Any]], most: int = 60) -> str | None:
    """What a thread is called until there is a title."""
    text = next((part["text"] for part in parts if part.get("type") == "text" and part["text"].strip()), "")
    line = " ".join(text.split())
    if len(line) <= most:
        return line or None
    return line[:most].rsplit(" ", 1)[0].rstrip(",;:.") + "…"


async def stop(session: Session, thread_id: UUID, turn_id: UUID | None, limits: Limits) -> Stopped:
    """Asks the thread's active turn (or the named one) to stop. Idempotent: a turn that has ended is left alone.

    A turn that no runner holds yet ends here; a running one is marked, and its holder acts. Raises `ThreadMissing`.
    """
    thread = (await session.execute(_LOCK_THREAD, {"thread": thread_id})).one_or_none()
    if thread is None:
        raise ThreadMissing
    unfinished = (await session.execute(_UNFINISHED, {"thread": thread_id})).all()
    named = [row for row in unfinished if turn_id in (None, row.id)]
    named.sort(key=lambda row: row.status == TurnStatus.WAITING)
    if not named:
        return Stopped(None)
    row = named[0]
    if row.status == TurnStatus.RUNNING:
        await session.execute(_ASK_TO_STOP, {"turn": row.id, "by": "user"})
        return Stopped(row.id, signal=True)
    messages = await close_turn(session, row.id, TurnStatus(row.status), TurnStatus.STOPPED, "user")
    messages += (await promote(session, thread.user_id, thread_id, limits)).values()
    await outbox.write(session, messages)
    return Stopped(row.id, outbox=messages)
