"""Looking inside: how a turn ran, and what its model was given; what an agent would be given now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

import orjson
from fastapi import Query
from pydantic import BaseModel, Field

from gateway.answers import missing
from gateway.http import Routes
from gateway.parts import CallerOf, PartsOf
from instructions import Persona, ToolSheet, compose, known_tools, offered_names
from store.repositories import inspector, transcripts
from store.repositories.inspector import AttemptSeen, CallSeen, TurnSeen
from store.repositories.transcripts import AgentProfile, PastCall, PastMessage

routes = Routes("inspector")

Channel = Annotated[str, Query(max_length=20, pattern="^[a-z]+$", description="web, api, …")]


class BlockOut(BaseModel):
    name: str
    text: str
    stable: bool = Field(description="The same bytes from turn to turn, so that providers can cache it.")


class OfferedTool(BaseModel):
    name: str
    description: str
    tier: str
    schema_: dict[str, Any] = Field(alias="schema")


class InstructionsOut(BaseModel):
    """What an agent would be told before a conversation."""

    blocks: list[BlockOut]
    tools: list[OfferedTool] = Field(description="`web_search` only where the model or the deployment can search.")
    model: str | None = Field(description="Chosen by thread, agent or user; null: the deployment's default.")
    model_source: str | None = Field(description="`thread`, `agent` or `user`, who chose the model.")
    effort: str | None
    characters: int = Field(description="Length of the instructions.")


class UsageOut(BaseModel):
    input: int | None
    cached: int | None
    output: int | None
    reasoning: int | None
    cost_micros: int | None = Field(description="Millionths of a dollar; null where nobody knows.")
    is_estimated: bool = Field(description="The provider did not count; tokens are estimated.")


class TurnUsage(UsageOut):
    unknown_cost: int = Field(description="Model calls whose cost nobody knows; `cost_micros` is without them.")


class AttemptOut(BaseModel):
    """One model call."""

    id: UUID
    epoch: int
    number: int = Field(description="Counts the tries of a step.")
    purpose: str = Field(description="`answer`, or what else it was made for: `title`.")
    state: str
    outcome: str | None
    model_asked: str
    model_served: str | None
    usage: UsageOut
    first_token_ms: int | None
    started_at: datetime
    ended_at: datetime | None


class CallOut(BaseModel):
    """One tool call; sizes in bytes of JSON."""

    id: UUID
    name: str
    state: str
    hosted: bool = Field(description="The provider ran it within the model call.")
    input_size: int
    output_size: int | None
    started_at: datetime | None
    done_at: datetime | None
    error_text: str | None


class StepOut(BaseModel):
    step: int
    attempts: list[AttemptOut]
    calls: list[CallOut]


class TurnInspected(BaseModel):
    id: UUID
    thread_id: UUID
    agent_id: UUID
    channel: str
    status: str
    ended_by: str | None
    error: dict[str, Any] | None
    model: str | None = Field(description="Who was asked last.")
    epoch: int
    recoveries: int
    accepted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None = Field(description="From its acceptance to its end.")
    first_token_ms: int | None = Field(description="From its acceptance to the first token.")
    usage: TurnUsage
    steps: list[StepOut]
    beside: list[AttemptOut] = Field(description="Model calls that are no part of the answer, such as the title's.")


class PromptCall(BaseModel):
    id: UUID
    name: str
    input: Any


class PromptResult(BaseModel):
    id: UUID
    name: str
    output: Any = None
    error: str | None = None


class PromptMessage(BaseModel):
    role: str
    text: str
    calls: list[PromptCall] = []
    results: list[PromptResult] = []


class PromptOut(BaseModel):
    """What the model saw at the first step of a turn."""

    blocks: list[BlockOut]
    messages: list[PromptMessage]
    older: int = Field(description="Messages before these that the model saw too, and that are not shown.")
    tools: list[OfferedTool]


@routes.get("/api/agents/{agent_id}/instructions", scope="read", errors=(404,))
async def show_instructions(
    agent_id: UUID,
    caller: CallerOf,
    parts: PartsOf,
    channel: Channel = "web",
    thread_id: Annotated[UUID | None, Query(description="With what this thread has chosen.")] = None,
) -> InstructionsOut:
    """What the agent would be told if a turn began now."""
    async with parts.store.session(caller.user_id) as session:
        profile = await transcripts.profile(session, agent_id, thread_id)
    if profile is None:
        raise missing("agent")
    sheets = known_tools()
    profile_of_channel = [name for name, sheet in sheets.items() if channel in sheet.channels]
    names = offered_names(profile_of_channel, profile.capabilities)
    zone = profile.settings.get("zone")
    persona = Persona(profile.name, profile.role, profile.standing_orders)
    blocks = compose(persona, names, channel, datetime.now(UTC), zone if isinstance(zone, str) else "")
    model, source = _model(profile)
    return InstructionsOut(
        blocks=[BlockOut(name=block.name, text=block.text, stable=block.stable) for block in blocks],
        tools=[_offered(sheets[name]) for name in names],
        model=model,
        model_source=source,
        effort=profile.thread_effort or profile.effort or profile.settings.get("effort"),
        characters=sum(len(block.text) for block in blocks),
    )


@routes.get("/api/turns/{turn_id}", scope="read", errors=(404,))
async def inspect_turn(turn_id: UUID, caller: CallerOf, parts: PartsOf) -> TurnInspected:
    """How a turn ran: steps, model calls, tool calls, tokens, cost and times."""
    async with parts.store.session(caller.user_id) as session:
        turn = await inspector.turn(session, turn_id)
        if turn is None:
            raise missing("turn")
        attempts = await inspector.attempts(session, turn_id)
        calls = await inspector.calls(session, turn_id)
    return _inspected(turn, attempts, calls)


@routes.get("/api/turns/{turn_id}/prompt", scope="read", errors=(404,))
async def show_prompt(turn_id: UUID, caller: CallerOf, parts: PartsOf) -> PromptOut:
    """What the model saw at the turn's first step: instructions as they were sent, the conversation, the tools.

    404 also while no model was called. The newest messages are shown, long texts in part.
    """
    async with parts.store.session(caller.user_id) as session:
        turn = await inspector.turn(session, turn_id)
        kept = None if turn is None else await inspector.prompt(session, turn_id)
        if turn is None or kept is None:
            raise missing("prompt")
        past = await transcripts.before(session, turn.thread_id, turn.message_id)
    settings = parts.settings
    shown = past[-settings.inspector_messages :]
    blocks = [BlockOut(name=block["name"], text=block["text"], stable=True) for block in kept.blocks]
    return PromptOut(
        blocks=[*blocks, BlockOut(name="time", text=kept.tail, stable=False)],
        messages=[told for message in shown for told in _told(message, settings.inspector_text)],
        older=len(past) - len(shown),
        tools=[OfferedTool(**tool) for tool in kept.tools],
    )


def _model(profile: AgentProfile) -> tuple[str | None, str | None]:
    own = profile.settings.get("model")
    user = own if isinstance(own, str) else None
    chosen = (("thread", profile.thread_model), ("agent", profile.model), ("user", user))
    return next(((model, source) for source, model in chosen if model), (None, None))


def _offered(sheet: ToolSheet) -> OfferedTool:
    return OfferedTool(name=sheet.name, description=sheet.description, tier=sheet.tier, schema=sheet.schema)


def _inspected(turn: TurnSeen, attempts: Sequence[AttemptSeen], calls: Sequence[CallSeen]) -> TurnInspected:
    of_answer = [attempt for attempt in attempts if attempt.purpose == "answer"]
    first = [
        _ms(turn.accepted_at, attempt.started_at) + attempt.first_token_ms
        for attempt in of_answer
        if attempt.first_token_ms is not None
    ]
    own = {name: getattr(turn, name) for name in TurnSeen.__slots__ if name != "message_id"}
    return TurnInspected(
        **own,
        duration_ms=None if turn.ended_at is None else _ms(turn.accepted_at, turn.ended_at),
        first_token_ms=min(first, default=None),
        usage=_usage_of(attempts),
        steps=_steps(of_answer, calls),
        beside=[_attempt(attempt) for attempt in attempts if attempt.purpose != "answer"],
    )


def _steps(attempts: Sequence[AttemptSeen], calls: Sequence[CallSeen]) -> list[StepOut]:
    tried: defaultdict[int, list[AttemptOut]] = defaultdict(list)
    called: defaultdict[int, list[CallOut]] = defaultdict(list)
    for attempt in attempts:
        tried[attempt.step].append(_attempt(attempt))
    for call in calls:
        fields = {name: getattr(call, name) for name in CallSeen.__slots__ if name not in ("step", "is_hosted")}
        called[call.step].append(CallOut(**fields, hosted=call.is_hosted))
    return [StepOut(step=step, attempts=tried[step], calls=called[step]) for step in sorted({*tried, *called})]


def _attempt(attempt: AttemptSeen) -> AttemptOut:
    return AttemptOut(
        id=attempt.id,
        epoch=attempt.epoch,
        number=attempt.number,
        purpose=attempt.purpose,
        state=attempt.state,
        outcome=attempt.outcome,
        model_asked=attempt.model_asked,
        model_served=attempt.model_served,
        usage=UsageOut(
            input=attempt.input_tokens,
            cached=attempt.cached_tokens,
            output=attempt.output_tokens,
            reasoning=attempt.reasoning_tokens,
            cost_micros=attempt.cost_micros,
            is_estimated=attempt.is_estimated,
        ),
        first_token_ms=attempt.first_token_ms,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
    )


def _usage_of(attempts: Sequence[AttemptSeen]) -> TurnUsage:
    return TurnUsage(
        input=_sum([attempt.input_tokens for attempt in attempts]),
        cached=_sum([attempt.cached_tokens for attempt in attempts]),
        output=_sum([attempt.output_tokens for attempt in attempts]),
        reasoning=_sum([attempt.reasoning_tokens for attempt in attempts]),
        cost_micros=_sum([attempt.cost_micros for attempt in attempts]),
        is_estimated=any(attempt.is_estimated for attempt in attempts),
        unknown_cost=sum(attempt.cost_micros is None for attempt in attempts),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    """Of those that are known; none if none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _ms(start: datetime, end: datetime) -> int:
    return round((end - start).total_seconds() * 1000)


def _told(message: PastMessage, most: int) -> list[PromptMessage]:
    """A message as the model got it: an answer step by step, each with its calls and what came of them."""
    if message.role != "assistant":
        return [PromptMessage(role=message.role, text=_cut(message.said, most))] if message.said else []
    return [
        PromptMessage(
            role="assistant",
            text=_cut(step.text, most),
            calls=[PromptCall(id=call.id, name=call.name, input=_bounded(call.input, most)) for call in step.calls],
            results=[_result(call, most) for call in step.calls],
        )
        for step in transcripts.steps_of(message)
        if step.text or step.calls
    ]


def _result(call: PastCall, most: int) -> PromptResult:
    if call.error_text is not None:
        return PromptResult(id=call.id, name=call.name, error=_cut(call.error_text, most))
    return PromptResult(id=call.id, name=call.name, output=_bounded(call.output, most))


def _bounded(value: Any, most: int) -> Any:
    """The value, or the beginning of its JSON where that is long."""
    text = orjson.dumps(value).decode()
    return value if len(text) <= most else _cut(text, most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… [{len(text) - most:,} characters more]"
