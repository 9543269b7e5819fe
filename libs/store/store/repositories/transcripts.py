"""What a model is shown of a thread: the active messages with their tool calls, and the agent that answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import text

from store.store import Session


@dataclass(frozen=True, slots=True)
class PastPart:
    step: int
    kind: str
    data: dict[str, Any]
    call: PastCall | None = None


@dataclass(frozen=True, slots=True)
class PastCall:
    id: UUID
    provider_call_id: str
    name: str
    state: str
    input: Any
    output: Any
    error_text: str | None


@dataclass(frozen=True, slots=True)
class PastMessage:
    id: UUID
    role: str
    parts: list[PastPart] = field(default_factory=list["PastPart"])


@dataclass(frozen=True, slots=True)
class AgentProfile:
    id: UUID
    name: str
    role: str
    standing_orders: str
    model: str | None
    max_steps: int


_MESSAGES = text("""
    select m.id, m.role, p.step, p.kind, p.data, p.call_id, c.provider_call_id, c.name, c.state, c.input, c.output,
        c.error_text
    from messages m
    left join message_parts p on p.message_id = m.id
    left join tool_calls c on c.id = p.call_id
    where m.thread_id = :thread and m.ordinal <= (select ordinal from messages where id = :message)
    order by m.ordinal, p.ordinal
""")

_AGENT = text("select id, name, role, standing_orders, model, max_steps from agents where id = :agent")


async def transcript(session: Session, thread_id: UUID, message_id: UUID) -> list[PastMessage]:
    """Everything up to and including the message that a turn writes (which has parts only after a recovery)."""
    found: list[PastMessage] = []
    rows = await session.execute(_MESSAGES, {"thread": thread_id, "message": message_id})
    for row in rows:
        if not found or found[-1].id != row.id:
            found.append(PastMessage(row.id, row.role))
        if row.kind is None:
            continue
        call = None
        if row.call_id is not None:
            call = PastCall(
                row.call_id, row.provider_call_id, row.name, row.state, row.input, row.output, row.error_text
            )
        found[-1].parts.append(PastPart(row.step, row.kind, row.data, call))
    return found


async def agent(session: Session, agent_id: UUID) -> AgentProfile:
    """Raises NoResultFound if the agent is not this user's."""
    row = (await session.execute(_AGENT, {"agent": agent_id})).one()
    return AgentProfile(row.id, row.name, row.role, row.standing_orders, row.model, row.max_steps)
