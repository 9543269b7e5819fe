"""What a model is shown of a thread: the active messages with their tool calls, and the agent that answers."""

from __future__ import annotations

from collections.abc import Iterable
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
    is_idempotent: bool = False


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


_PARTS = """
    select m.id, m.role, p.step, p.kind, p.data, p.call_id, c.provider_call_id, c.name, c.state, c.input, c.output,
        c.error_text, c.is_idempotent
    from messages m
    left join message_parts p on p.message_id = m.id
    left join tool_calls c on c.id = p.call_id
"""

_BEFORE = text(
    _PARTS  # noqa: S608 - constants of ours
    + """
    where m.thread_id = :thread and m.ordinal < (select ordinal from messages where id = :message)
    order by m.ordinal, p.ordinal
"""
)

_ONE = text(_PARTS + " where m.id = :message order by p.ordinal")

_AGENT = text("select id, name, role, standing_orders, model, max_steps from agents where id = :agent")


async def before(session: Session, thread_id: UUID, message_id: UUID) -> list[PastMessage]:
    """Everything that stands before the message that a turn writes."""
    return _gathered(await session.execute(_BEFORE, {"thread": thread_id, "message": message_id}))


async def written(session: Session, message_id: UUID) -> PastMessage:
    """What is committed of the message that a turn writes."""
    (message,) = _gathered(await session.execute(_ONE, {"message": message_id}))
    return message


async def agent(session: Session, agent_id: UUID) -> AgentProfile:
    """Raises NoResultFound if the agent is not this user's."""
    row = (await session.execute(_AGENT, {"agent": agent_id})).one()
    return AgentProfile(row.id, row.name, row.role, row.standing_orders, row.model, row.max_steps)


def _gathered(rows: Iterable[Any]) -> list[PastMessage]:
    found: list[PastMessage] = []
    for row in rows:
        if not found or found[-1].id != row.id:
            found.append(PastMessage(row.id, row.role))
        if row.kind is not None:
            found[-1].parts.append(PastPart(row.step, row.kind, row.data, _call(row)))
    return found


def _call(row: Any) -> PastCall | None:
    if row.call_id is None:
        return None
    return PastCall(
        row.call_id,
        row.provider_call_id,
        row.name,
        row.state,
        row.input,
        row.output,
        row.error_text,
        row.is_idempotent,
    )
