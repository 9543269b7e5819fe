"""What a commit of a running turn writes beside the turn's own row: parts, calls, and how a model call went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import func, insert, text

from store.models import MessagePart, ToolCall
from store.store import Session
from store.turns.claim import Claim


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part to append; `data` of a tool call holds only what never changes."""

    ordinal: int
    step: int
    kind: str
    data: dict[str, Any]
    call_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class CallRow:
    """A tool call that the model asked for."""

    id: UUID
    step: int
    name: str
    provider_call_id: str
    input: Any
    is_idempotent: bool
    is_hosted: bool = False
    """The provider ran it within the model call: it is done, with this output."""
    output: Any = None


@dataclass(frozen=True, slots=True)
class PromptSeen:
    """What a model call was given before the conversation. `blocks` and `tools` may be left out once they are kept."""

    hash: bytes
    tail: str
    """The end of the instructions, which is not part of the hash."""
    blocks: list[dict[str, Any]] | None = None
    tools: list[dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """How one model call went. Tokens are the provider's own, or estimated and marked so; unknown ones are none."""

    id: UUID
    state: str
    outcome: str
    model_served: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_micros: int | None = None
    is_estimated: bool = False
    first_token_ms: int | None = None


_SETTLE = text("""
    update attempts set state = :state, outcome = :outcome, model_served = :model_served,
        input_tokens = :input_tokens, cached_tokens = :cached_tokens, output_tokens = :output_tokens,
        reasoning_tokens = :reasoning_tokens, cost_micros = :cost_micros, is_estimated = :is_estimated,
        first_token_ms = :first_token_ms, ended_at = clock_timestamp(), reserved_micros = 0
    where id = :id and state = 'open'
""")


async def ask(session: Session, held: Claim, calls: Sequence[CallRow]) -> None:
    """The rows of calls: those that are ours as asked, those that the provider ran as done."""
    await _show_hosted(session, held, [call for call in calls if call.is_hosted])
    calls = [call for call in calls if not call.is_hosted]
    if calls:
        await session.execute(
            insert(ToolCall),
            [
                {
                    "id": call.id,
                    "turn_id": held.turn_id,
                    "step": call.step,
                    "name": call.name,
                    "provider_call_id": call.provider_call_id,
                    "state": "asked",
                    "input": call.input,
                    "epoch": held.epoch,
                    "is_idempotent": call.is_idempotent,
                }
                for call in calls
            ],
        )


async def _show_hosted(session: Session, held: Claim, calls: Sequence[CallRow]) -> None:
    if calls:
        await session.execute(
            insert(ToolCall).values(done_at=func.clock_timestamp()),
            [
                {
                    "id": call.id,
                    "turn_id": held.turn_id,
                    "step": call.step,
                    "name": call.name,
                    "provider_call_id": call.provider_call_id,
                    "state": "done",
                    "input": call.input,
                    "output": call.output,
                    "epoch": held.epoch,
                    "is_idempotent": True,
                    "is_hosted": True,
                }
                for call in calls
            ],
        )


async def append(session: Session, held: Claim, parts: Sequence[PartRow]) -> None:
    """Parts behind those that the message has."""
    if parts:
        await session.execute(
            insert(MessagePart),
            [
                {
                    "message_id": held.message_id,
                    "ordinal": part.ordinal,
                    "step": part.step,
                    "kind": part.kind,
                    "data": part.data,
                    "call_id": part.call_id,
                }
                for part in parts
            ],
        )


async def settle(session: Session, result: AttemptResult) -> None:
    """The attempt's outcome, once."""
    await session.execute(
        _SETTLE,
        {
            "id": result.id,
            "state": result.state,
            "outcome": result.outcome,
            "model_served": result.model_served,
            "input_tokens": result.input_tokens,
            "cached_tokens": result.cached_tokens,
            "output_tokens": result.output_tokens,
            "reasoning_tokens": result.reasoning_tokens,
            "cost_micros": result.cost_micros,
            "is_estimated": result.is_estimated,
            "first_token_ms": result.first_token_ms,
        },
    )
