"""Assembles what the model sees: instructions, then the conversation.

The blocks come in a fixed order and change only when the agent does, so that providers can cache the prefix; what
varies (the day) comes last.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from llm import Assistant, Message, System, ToolCall, ToolResult, User
from store.repositories.transcripts import AgentProfile, PastCall, PastMessage, PastPart
from turn_runner import foreign
from turn_runner.prompts import prompt
from turn_runner.tools import Tool


def instructions(agent: AgentProfile, tools: Sequence[Tool[Any]], today: datetime) -> str:
    """The system message; the same bytes for every step of a turn, and for every turn of a day."""
    blocks = [prompt("priority"), prompt("style"), _identity(agent)]
    if tools:
        blocks.append(prompt("tools"))
    blocks.append(f"Today is {today:%A, %d %B %Y} (UTC).")
    return "\n\n".join(blocks)


def conversation(past: Sequence[PastMessage]) -> list[Message]:
    """Past messages as a model knows them. Reasoning is left out; a call never stands without its result."""
    told: list[Message] = []
    for message in past:
        if message.role == "user":
            text = "\n\n".join(part.data["text"] for part in message.parts if part.kind == "text")
            if text:
                told.append(User(text))
        elif message.role == "assistant":
            told += _steps(message.parts)
    return told


def opening(
    agent: AgentProfile, tools: Sequence[Tool[Any]], past: Sequence[PastMessage], today: datetime | None = None
) -> list[Message]:
    return [System(instructions(agent, tools, today or datetime.now(UTC))), *conversation(past)]


def _identity(agent: AgentProfile) -> str:
    lines = [f"You are {agent.name}, an agent of Retinue."]
    if agent.role:
        lines.append(f"Your role: {agent.role}")
    if agent.standing_orders:
        lines.append(f"Standing orders of the person you work for:\n{agent.standing_orders}")
    return "\n".join(lines)


def _steps(parts: Sequence[PastPart]) -> list[Message]:
    told: list[Message] = []
    for step in sorted({part.step for part in parts}):
        of_step = [part for part in parts if part.step == step]
        text = "".join(part.data["text"] for part in of_step if part.kind == "text")
        calls = [part.call for part in of_step if part.call is not None]
        if text or calls:
            asked = tuple(ToolCall(c.provider_call_id, c.name, arguments_of(c.input)) for c in calls)
            told.append(Assistant(text, asked))
            told += [ToolResult(c.provider_call_id, _outcome(c)) for c in calls]
    return told


def arguments_of(given: Any) -> str:
    """A call's input as the model gets it back; what was no JSON goes back as it wrote it."""
    return given if isinstance(given, str) else orjson.dumps(given).decode()


def _outcome(call: PastCall) -> str:
    if call.error_text is not None:
        return f"Error: {call.error_text}"
    return foreign.told(call.name, orjson.dumps(call.output).decode())
