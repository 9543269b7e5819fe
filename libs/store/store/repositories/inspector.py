"""A turn as it ran: its attempts, its calls, and what its model was given. For whoever looks inside."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from store.store import Session


@dataclass(frozen=True, slots=True)
class TurnSeen:
    id: UUID
    thread_id: UUID
    agent_id: UUID
    message_id: UUID
    channel: str
    status: str
    ended_by: str | None
    error: dict[str, Any] | None
    model: str | None
    """Who was asked last."""
    epoch: int
    recoveries: int
    accepted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class AttemptSeen:
    id: UUID
    epoch: int
    step: int
    number: int
    purpose: str
    state: str
    outcome: str | None
    model_asked: str
    model_served: str | None
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_micros: int | None
    is_estimated: bool
    first_token_ms: int | None
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class CallSeen:
    """Sizes are bytes of JSON."""

    id: UUID
    step: int
    name: str
    state: str
    is_hosted: bool
    input_size: int
    output_size: int | None
    started_at: datetime | None
    done_at: datetime | None
    error_text: str | None


@dataclass(frozen=True, slots=True)
class PromptKept:
    """What the first model call of a turn was given before the conversation."""

    blocks: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    tail: str


_TURN = text("""
    select id, thread_id, agent_id, message_id, channel, status, case when ended_at is not null then ended_by end,
        error, model, epoch, recoveries, accepted_at, started_at, ended_at
    from turns where id = :turn
""")

_ATTEMPTS = text("""
    select id, epoch, step, number, purpose, state, outcome, model_asked, model_served, input_tokens, cached_tokens,
        output_tokens, reasoning_tokens, cost_micros, is_estimated, first_token_ms, started_at, ended_at
    from attempts where turn_id = :turn order by started_at, id
""")

_CALLS = text("""
    select id, step, name, state, is_hosted, octet_length(input::text), octet_length(output::text), started_at, done_at,
        error_text
    from tool_calls where turn_id = :turn order by step, id
""")

_PROMPT = text("""
    select p.blocks, p.tools, a.prompt_tail
    from attempts a join prompts p on p.hash = a.prompt_hash
    where a.turn_id = :turn and a.purpose = 'answer'
    order by a.started_at, a.id limit 1
""")


async def turn(session: Session, turn_id: UUID) -> TurnSeen | None:
    """None if it is not one of the user's own."""
    row = (await session.execute(_TURN, {"turn": turn_id})).one_or_none()
    return None if row is None else TurnSeen(*row)


async def attempts(session: Session, turn_id: UUID) -> list[AttemptSeen]:
    """Every model call of the turn, those beside its answer too, in the order in which they were made."""
    return [AttemptSeen(*row) for row in await session.execute(_ATTEMPTS, {"turn": turn_id})]


async def calls(session: Session, turn_id: UUID) -> list[CallSeen]:
    return [CallSeen(*row) for row in await session.execute(_CALLS, {"turn": turn_id})]


async def prompt(session: Session, turn_id: UUID) -> PromptKept | None:
    """None while no model was called, and for turns that are older than this record."""
    row = (await session.execute(_PROMPT, {"turn": turn_id})).one_or_none()
    return None if row is None else PromptKept(row.blocks, row.tools, row.prompt_tail or "")
