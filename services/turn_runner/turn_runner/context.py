"""Assembles what the model sees: instructions, then the conversation.

The blocks of the instructions and their order are `instructions`' (shared with the gateway, which shows them); the
moment that they tell is when the turn was first claimed, so that whoever goes on with it says the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from instructions import Block, Persona, compose, text_of
from llm import Assistant, Message, System, ToolCall, ToolResult, User
from store.repositories.transcripts import AgentProfile, PastCall, PastMessage, steps_of
from turn_runner import foreign

ZONE = "zone"
"""The user's setting that names their time zone."""


def blocks_of(agent: AgentProfile, names: Sequence[str], channel: str, moment: datetime | None) -> list[Block]:
    """The instructions of a turn; `names` are the tools that it is offered."""
    persona = Persona(agent.name, agent.role, agent.standing_orders)
    zone = agent.settings.get(ZONE)
    return compose(persona, names, channel, moment or datetime.now(UTC), zone if isinstance(zone, str) else "")


def opening(blocks: Sequence[Block], past: Sequence[PastMessage]) -> list[Message]:
    """What a turn's first model call is told."""
    return [System(text_of(blocks)), *conversation(past)]


def conversation(past: Sequence[PastMessage]) -> list[Message]:
    """Past messages as a model knows them. Reasoning is left out; a call never stands without its result."""
    told: list[Message] = []
    for message in past:
        if message.role == "user":
            if message.said:
                told.append(User(message.said))
        elif message.role == "assistant":
            told += _steps(message)
    return told


def _steps(message: PastMessage) -> list[Message]:
    told: list[Message] = []
    for step in steps_of(message):
        if step.text or step.calls:
            asked = tuple(ToolCall(c.provider_call_id, c.name, arguments_of(c.input)) for c in step.calls)
            told.append(Assistant(step.text, asked))
            told += [ToolResult(c.provider_call_id, _outcome(c)) for c in step.calls]
    return told


def arguments_of(given: Any) -> str:
    """A call's input as the model gets it back; what was no JSON goes back as it wrote it."""
    return given if isinstance(given, str) else orjson.dumps(given).decode()


def _outcome(call: PastCall) -> str:
    if call.error_text is not None:
        return f"Error: {call.error_text}"
    return foreign.told(call.name, orjson.dumps(call.output).decode())
