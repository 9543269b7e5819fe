"""A user's agents: made, changed, put away, one of them the default."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, insert, select, text, update

from contracts.ids import uuid7
from store.models import Agent
from store.store import Session


@dataclass(frozen=True, slots=True)
class AgentInfo:
    id: UUID
    name: str
    role: str
    standing_orders: str
    model: str | None
    effort: str | None
    fallback_models: list[str]
    capabilities: list[str] | None
    """Names of tools; none means all that the channel has."""
    glyph: str
    max_steps: int
    is_default: bool
    archived: bool
    created_at: datetime
    updated_at: datetime


# One order for whoever changes more than one row, so that two never wait for each other.
_LOCK_ALL = text("select id from agents order by id for no key update")


async def list_agents(session: Session, *, archived: bool = False) -> list[AgentInfo]:
    """Those at work, the default one first; or those put away."""
    wanted = Agent.archived_at.is_not(None) if archived else Agent.archived_at.is_(None)
    rows = await session.execute(_agents().where(wanted).order_by(Agent.is_default.desc(), Agent.created_at, Agent.id))
    return [AgentInfo(*row) for row in rows]


async def get(session: Session, agent_id: UUID) -> AgentInfo | None:
    """One agent, put away or not; none if it is not one of the user's own."""
    row = (await session.execute(_agents().where(Agent.id == agent_id))).first()
    return AgentInfo(*row) if row else None


async def count(session: Session) -> int:
    """All of the user's agents, those put away too."""
    return await session.scalar(select(func.count()).select_from(Agent)) or 0


async def create(session: Session, user_id: UUID, values: dict[str, Any]) -> UUID:
    """A new agent with these columns."""
    agent_id = uuid7()
    await session.execute(insert(Agent).values(id=agent_id, user_id=user_id, is_default=False, **values))
    return agent_id


async def change(session: Session, agent_id: UUID, values: dict[str, Any]) -> None:
    """Sets these columns."""
    await session.execute(update(Agent).where(Agent.id == agent_id).values(updated_at=func.now(), **values))


async def archive(session: Session, agent_id: UUID) -> bool:
    """Puts an agent away; False if it is the default one, which stays. One that is away already keeps its time."""
    put_away = update(Agent).where(Agent.id == agent_id, ~Agent.is_default)
    values = {"archived_at": func.coalesce(Agent.archived_at, func.now()), "updated_at": func.now()}
    return (await session.execute(put_away.values(**values).returning(Agent.id))).first() is not None


async def bring_back(session: Session, agent_id: UUID) -> None:
    await change(session, agent_id, {"archived_at": None})


async def make_default(session: Session, agent_id: UUID) -> bool:
    """Whom new threads talk to from now on; False if the agent is put away."""
    await session.execute(_LOCK_ALL)
    is_here = await session.scalar(select(Agent.id).where(Agent.id == agent_id, Agent.archived_at.is_(None)))
    if is_here is None:
        return False
    await session.execute(update(Agent).where(Agent.is_default, Agent.id != agent_id).values(is_default=False))
    await session.execute(update(Agent).where(Agent.id == agent_id).values(is_default=True))
    return True


async def resolve(session: Session, agent_id: UUID | None) -> UUID | None:
    """This agent, or the default one; none if it is not one of the user's own, or archived."""
    wanted = Agent.is_default if agent_id is None else Agent.id == agent_id
    return await session.scalar(select(Agent.id).where(wanted, Agent.archived_at.is_(None)))


def _agents() -> Select[*tuple[Any, ...]]:
    columns: list[Any] = [
        Agent.id,
        Agent.name,
        Agent.role,
        Agent.standing_orders,
        Agent.model,
        Agent.effort,
        Agent.fallback_models,
        Agent.capabilities,
        Agent.glyph,
        Agent.max_steps,
        Agent.is_default,
        Agent.archived_at.is_not(None),
        Agent.created_at,
        Agent.updated_at,
    ]
    return select(*columns)
