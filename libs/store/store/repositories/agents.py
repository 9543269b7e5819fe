"""A user's agents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select

from store.models import Agent
from store.store import Session


@dataclass(frozen=True, slots=True)
class AgentInfo:
    id: UUID
    name: str
    role: str
    model: str | None
    max_steps: int
    is_default: bool
    created_at: datetime


async def list_agents(session: Session) -> list[AgentInfo]:
    """Those not archived, the default one first."""
    columns = (
        Agent.id,
        Agent.name,
        Agent.role,
        Agent.model,
        Agent.max_steps,
        Agent.is_default,
        Agent.created_at,
    )
    rows = await session.execute(
        select(*columns).where(Agent.archived_at.is_(None)).order_by(Agent.is_default.desc(), Agent.created_at)
    )
    return [AgentInfo(*row) for row in rows]


async def resolve(session: Session, agent_id: UUID | None) -> UUID | None:
    """This agent, or the default one; none if it is not one of the user's own, or archived."""
    wanted = Agent.is_default if agent_id is None else Agent.id == agent_id
    return await session.scalar(select(Agent.id).where(wanted, Agent.archived_at.is_(None)))
