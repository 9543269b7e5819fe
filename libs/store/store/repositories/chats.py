"""Chats of AI SDK clients: ids that clients make up, each standing for one of the user's threads.

An id that is one of the user's own threads means that thread; another user's equal id is another chat.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from contracts.ids import uuid7
from store.models import Thread
from store.repositories import agents
from store.store import Session


async def find(session: Session, chat_id: str) -> UUID | None:
    """The thread behind a chat id, if there is one."""
    try:
        own = await session.scalar(select(Thread.id).where(Thread.id == UUID(chat_id)))
    except ValueError:
        own = None
    return own or await session.scalar(select(Thread.id).where(Thread.client_id == chat_id))


async def find_or_create(session: Session, user_id: UUID, chat_id: str) -> UUID | None:
    """The thread behind a chat id, made with the default agent on first use; none if the user has no such agent."""
    found = await find(session, chat_id)
    if found is not None:
        return found
    agent_id = await agents.resolve(session, None)
    if agent_id is None:
        return None
    made = insert(Thread).values(id=uuid7(), user_id=user_id, agent_id=agent_id, client_id=chat_id)
    await session.execute(made.on_conflict_do_nothing(index_elements=["user_id", "client_id"]))
    return await find(session, chat_id)
