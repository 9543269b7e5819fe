"""A user's agents."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from gateway.http import Routes
from gateway.parts import CallerOf, PartsOf
from store.repositories import agents

routes = Routes("agents")


class AgentOut(BaseModel):
    id: UUID
    name: str
    role: str
    model: str | None
    max_steps: int
    is_default: bool
    created_at: datetime


class AgentList(BaseModel):
    items: list[AgentOut]


@routes.get("/api/agents", scope="read")
async def list_agents(caller: CallerOf, parts: PartsOf) -> AgentList:
    """Your agents, the default one first."""
    async with parts.store.session(caller.user_id) as session:
        found = await agents.list_agents(session)
    return AgentList(items=[AgentOut.model_validate(agent, from_attributes=True) for agent in found])
