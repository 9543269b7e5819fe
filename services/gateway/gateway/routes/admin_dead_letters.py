"""Dead letters, for administrators: listed, looked at, replayed, dropped."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, Field

from chassis import logs
from chassis.errors import Refused
from gateway.answers import invalid, missing
from gateway.http import Routes
from gateway.parts import CallerOf, PartsOf
from store.system import dead
from store.system.dead import Letter, LetterInfo, State

log = logs.get(__name__)
routes = Routes("admin")

Before = Annotated[str | None, Query(max_length=200, description="The `next_cursor` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=200, description="Entries on a page at most.")]


class DeadLetterOut(BaseModel):
    id: UUID
    consumer: str
    stream: str
    subject: str
    event_id: UUID
    deliveries: int = Field(description="How often it was delivered before it was given up.")
    first_seen_at: datetime = Field(description="Since when the bus keeps it.")
    last_seen_at: datetime
    reason_type: str
    reason: str
    parked_at: datetime
    state: State = Field(
        description="`parked`: nobody has decided. `replayed`: sent again, outcome not known yet. "
        "`handled`: worked on after a replay."
    )
    replayed_at: datetime | None
    handled_at: datetime | None
    payload_bytes: int


class DeadLetterPage(BaseModel):
    items: list[DeadLetterOut]
    next_cursor: str | None


class DeadLetterWhole(DeadLetterOut):
    headers: dict[str, str]
    payload: str = Field(description="As text; what is no UTF-8 shows as �.")
    payload_is_cut: bool = Field(description="It is longer than RETINUE_DEAD_LETTER_SHOWN.")


@routes.get("/api/admin/dead-letters", scope="admin")
async def list_dead_letters(
    caller: CallerOf,
    parts: PartsOf,
    consumer: Annotated[str | None, Query(max_length=200)] = None,
    state: State | None = None,
    before: Before = None,
    limit: Limit = 50,
) -> DeadLetterPage:
    """Events that a consumer could not work on, the latest first; without their payloads."""
    async with parts.store.system() as session:
        try:
            found, cursor = await dead.page(session, consumer=consumer, state=state, before=before, limit=limit)
        except dead.BadCursor:
            raise invalid("before: this cursor is none of ours.", field="before") from None
    return DeadLetterPage(items=[_shown(info) for info in found], next_cursor=cursor)


@routes.get("/api/admin/dead-letters/{dead_letter_id}", scope="admin", errors=(404,))
async def get_dead_letter(dead_letter_id: UUID, caller: CallerOf, parts: PartsOf) -> DeadLetterWhole:
    """One of them, with its payload."""
    async with parts.store.system() as session:
        letter = await dead.get(session, dead_letter_id)
    if letter is None:
        raise missing()
    return _whole(letter, parts.settings.dead_letter_shown)


@routes.post("/api/admin/dead-letters/{dead_letter_id}/replay", scope="admin", errors=(404, 409))
async def replay_dead_letter(dead_letter_id: UUID, caller: CallerOf, parts: PartsOf) -> DeadLetterOut:
    """Sends the event again, to this consumer alone. If it fails again, it is parked again."""
    async with parts.store.system() as session:
        try:
            message = await dead.replay(session, dead_letter_id)
        except dead.NotReplayable as wrong:
            raise Refused(409, "not_replayable", str(wrong)) from None
        letter = await dead.get(session, dead_letter_id)
    if message is None or letter is None:
        raise missing()
    parts.relay.after_commit([message])
    log.info("dead letter replayed", dead_letter=dead_letter_id, consumer=letter.info.consumer, by=caller.user_id)
    return _shown(letter.info)


@routes.delete("/api/admin/dead-letters/{dead_letter_id}", scope="admin", status_code=204, errors=(404,))
async def drop_dead_letter(dead_letter_id: UUID, caller: CallerOf, parts: PartsOf) -> None:
    """Forgets the event for good: this consumer will never work on it."""
    async with parts.store.system() as session:
        dropped = await dead.drop(session, dead_letter_id)
    if not dropped:
        raise missing()
    log.info("dead letter dropped", dead_letter=dead_letter_id, by=caller.user_id)


def _shown(info: LetterInfo) -> DeadLetterOut:
    return DeadLetterOut.model_validate(info, from_attributes=True)


def _whole(letter: Letter, most: int) -> DeadLetterWhole:
    return DeadLetterWhole(
        **_shown(letter.info).model_dump(),
        headers=letter.headers,
        payload=letter.payload[:most].decode(errors="replace"),
        payload_is_cut=len(letter.payload) > most,
    )
