"""Searching what was said."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from gateway.answers import invalid
from gateway.http import Routes
from gateway.parts import CallerOf, PartsOf
from gateway.routes.threads import Before, ThreadOut, shown
from store.repositories import search
from store.repositories.search import Hit
from store.repositories.threads import BadCursor
from store.repositories.words import wanted

routes = Routes("threads")


class HitOut(BaseModel):
    thread: ThreadOut
    message_id: str = Field(description="As `around` of the thread's messages takes it.")
    role: Literal["system", "user", "assistant"]
    at: datetime
    snippet: str = Field(description="Plain text: a piece of the message, on one line.")
    marks: list[tuple[int, int]] = Field(
        description="Where in the snippet the words are: start and end in UTF-16 code units, as JavaScript counts."
    )


class HitPage(BaseModel):
    items: list[HitOut]
    next_cursor: str | None


@routes.get("/api/threads/search", scope="read")
async def search_threads(
    caller: CallerOf,
    parts: PartsOf,
    q: Annotated[str, Query(max_length=400, description="Words, and phrases in quotes; the last may be a beginning.")],
    limit: Annotated[int, Query(ge=1, le=50, description="Hits on a page at most.")] = 20,
    before: Before = None,
) -> HitPage:
    """Messages of yours that say all of it, the newest first. Case and accents do not matter, deleted threads are
    left out.
    """
    async with parts.store.session(caller.user_id) as session:
        try:
            hits, cursor = await search.search(session, wanted(q), before=before, limit=limit)
        except BadCursor:
            raise invalid("before: this cursor is none of ours.", field="before") from None
    return HitPage(items=[_hit(hit) for hit in hits], next_cursor=cursor)


def _hit(hit: Hit) -> HitOut:
    return HitOut.model_validate(
        {
            "thread": shown(hit.thread),
            "message_id": hit.message_id,
            "role": hit.role,
            "at": hit.at,
            "snippet": hit.excerpt.text,
            "marks": hit.excerpt.marks,
        }
    )
