"""A user's agents: made, changed, put away, one of them the default; and starters to begin with."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from chassis.errors import Refused
from contracts.hints import Hint
from gateway.answers import invalid, missing
from gateway.auth import Caller
from gateway.http import Routes
from gateway.parts import CallerOf, Parts, PartsOf
from gateway.starters import Starter, starters
from instructions import known_tools
from store import Session
from store.repositories import agents
from store.repositories.agents import AgentInfo

routes = Routes("agents")

MOST_FALLBACKS = 5
_MAY_BE_NULL = ("model", "effort", "capabilities")

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
Role = Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)]
ModelId = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=200, pattern=r"^(~[^\s/]+|[^\s/]+/\S+)$"),
]
Effort = Annotated[str, StringConstraints(pattern=r"^[a-z]{1,20}$")]
Glyph = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]
ToolName = Annotated[str, StringConstraints(max_length=100)]
MaxSteps = Annotated[int, Field(ge=1, le=200)]

_MODEL = "`provider/model`, or an alias such as `~gpt-latest`; null: the person's default."
_EFFORT = "How hard the model shall think, in the words of its catalogue entry; sent only to models that list it."
_FALLBACKS = "Whom to ask, in this order, when the model fails."
_CAPABILITIES = "Names of tools (GET /api/tools); null: all that the channel has; empty: none."


class AgentOut(BaseModel):
    id: UUID
    name: str
    role: str
    standing_orders: str
    model: str | None
    effort: str | None
    fallback_models: list[str]
    capabilities: list[str] | None
    glyph: str = Field(description="The seed of its picture.")
    max_steps: int
    is_default: bool
    archived: bool
    created_at: datetime
    updated_at: datetime


class AgentList(BaseModel):
    items: list[AgentOut]


class AgentWish(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    role: Role = ""
    standing_orders: str = ""
    model: ModelId | None = Field(None, description=_MODEL)
    effort: Effort | None = Field(None, description=_EFFORT)
    fallback_models: list[ModelId] = Field(default=[], max_length=MOST_FALLBACKS, description=_FALLBACKS)
    capabilities: list[ToolName] | None = Field(None, max_length=200, description=_CAPABILITIES)
    glyph: Glyph | None = Field(None, description="The seed of its picture; made up if left out.")
    max_steps: MaxSteps = 50


class AgentChange(BaseModel):
    """What is left out stays as it is; null only where the field says what it means."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    role: Role | None = None
    standing_orders: str | None = None
    model: ModelId | None = Field(None, description=_MODEL)
    effort: Effort | None = Field(None, description=_EFFORT)
    fallback_models: list[ModelId] | None = Field(None, max_length=MOST_FALLBACKS, description=_FALLBACKS)
    capabilities: list[ToolName] | None = Field(None, max_length=200, description=_CAPABILITIES)
    glyph: Glyph | None = None
    max_steps: MaxSteps | None = None
    archived: bool | None = Field(None, description="Put away, or bring back.")


class StarterList(BaseModel):
    items: list[Starter]


@routes.get("/api/agents", scope="read")
async def list_agents(
    caller: CallerOf,
    parts: PartsOf,
    archived: Annotated[bool, Query(description="Those put away instead of those at work.")] = False,
) -> AgentList:
    """Your agents, the default one first."""
    async with parts.store.session(caller.user_id) as session:
        found = await agents.list_agents(session, archived=archived)
    return AgentList(items=[_shown(agent) for agent in found])


@routes.post("/api/agents", scope="chat", status_code=201, errors=(409,))
async def create_agent(wish: AgentWish, caller: CallerOf, parts: PartsOf) -> AgentOut:
    """A new agent."""
    values = _checked(wish.model_dump(), parts)
    values["glyph"] = values["glyph"] or secrets.token_hex(4)
    async with parts.store.session(caller.user_id) as session:
        most = parts.settings.agents_per_user
        if await agents.count(session) >= most:
            message = f"You have {most} agents, which is as many as there may be; change one instead."
            raise Refused(409, "too_many_agents", message, limit=most, setting="RETINUE_AGENTS_PER_USER")
        made = await _agent(session, await agents.create(session, caller.user_id, values))
    _tell(parts, caller)
    return made


@routes.get("/api/agents/starters", scope="read")
async def list_starters(caller: CallerOf) -> StarterList:
    """Agents to begin with: take one by posting its fields."""
    return StarterList(items=list(starters()))


@routes.get("/api/agents/{agent_id}", scope="read", errors=(404,))
async def get_agent(agent_id: UUID, caller: CallerOf, parts: PartsOf) -> AgentOut:
    """One agent, put away or not."""
    async with parts.store.session(caller.user_id) as session:
        return await _agent(session, agent_id)


@routes.patch("/api/agents/{agent_id}", scope="chat", errors=(404, 409))
async def change_agent(agent_id: UUID, change: AgentChange, caller: CallerOf, parts: PartsOf) -> AgentOut:
    """Changes what is named. An answer under way keeps what it began with, as far as it has come."""
    values = change.model_dump(exclude_unset=True)
    for name, value in values.items():
        if value is None and name not in _MAY_BE_NULL:
            raise invalid(f"{name}: null is nothing that this can be; leave it out to keep it.", field=name)
    values = _checked(values, parts)
    archived: bool | None = values.pop("archived", None)
    async with parts.store.session(caller.user_id) as session:
        await _agent(session, agent_id)
        if values:
            await agents.change(session, agent_id, values)
        if archived:
            await _put_away(session, agent_id)
        elif archived is not None:
            await agents.bring_back(session, agent_id)
        changed = await _agent(session, agent_id)
    _tell(parts, caller)
    return changed


@routes.delete("/api/agents/{agent_id}", scope="chat", status_code=204, errors=(404, 409))
async def delete_agent(agent_id: UUID, caller: CallerOf, parts: PartsOf) -> None:
    """Puts an agent away; its threads stay, and are still answered. PATCH with `archived: false` brings it back."""
    async with parts.store.session(caller.user_id) as session:
        await _agent(session, agent_id)
        await _put_away(session, agent_id)
    _tell(parts, caller)


@routes.post("/api/agents/{agent_id}/default", scope="chat", errors=(404, 409))
async def make_default(agent_id: UUID, caller: CallerOf, parts: PartsOf) -> AgentOut:
    """From now on, new threads talk to this one unless another is named."""
    async with parts.store.session(caller.user_id) as session:
        await _agent(session, agent_id)
        if not await agents.make_default(session, agent_id):
            raise Refused(409, "archived", "This agent is put away; bring it back first.")
        made = await _agent(session, agent_id)
    _tell(parts, caller)
    return made


def _tell(parts: Parts, caller: Caller) -> None:
    """Open pages look again."""
    parts.relay.hint(Hint(kind="agents", user_id=caller.user_id))


async def _agent(session: Session, agent_id: UUID) -> AgentOut:
    found = await agents.get(session, agent_id)
    if found is None:
        raise missing("agent")
    return _shown(found)


async def _put_away(session: Session, agent_id: UUID) -> None:
    if not await agents.archive(session, agent_id):
        message = "This is your default agent: make another one the default first."
        raise Refused(409, "is_default", message)


def _shown(agent: AgentInfo) -> AgentOut:
    shown = AgentOut.model_validate(agent, from_attributes=True)
    shown.glyph = shown.glyph or str(agent.id)
    return shown


def _checked(values: dict[str, Any], parts: Parts) -> dict[str, Any]:
    """What the types alone do not say. Raises `Refused`."""
    most = parts.settings.standing_orders_limit
    if len(values.get("standing_orders", "")) > most:
        message = f"standing_orders: longer than {most:,} characters."
        raise invalid(message, field="standing_orders", limit=most, setting="RETINUE_STANDING_ORDERS_LIMIT")
    for name in ("capabilities", "fallback_models"):
        if values.get(name) is not None:
            values[name] = list(dict.fromkeys(values[name]))
    unknown = [name for name in values.get("capabilities") or () if name not in known_tools()]
    if unknown:
        known = ", ".join(known_tools())
        message = f"capabilities: there is no tool {unknown[0]!r}; there are: {known}."
        raise invalid(message, field="capabilities", unknown=unknown)
    return values
