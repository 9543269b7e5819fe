"""Between a message's parts as the AI SDK shapes them and their rows.

A tool call is a row of its own, because its state changes; its part keeps only what never does. All other parts are
kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select

from store.models import MessagePart, ToolCall
from store.store import Session

Part = dict[str, Any]
TOOL = "tool"
_CHANGING = ("state", "input", "rawInput", "output", "errorText", "preliminary")


def is_tool(part: Mapping[str, Any]) -> bool:
    return part["type"] == "dynamic-tool" or part["type"].startswith("tool-")


def fixed_of(part: Mapping[str, Any]) -> Part:
    """What of a tool part never changes once the call was asked for."""
    return {key: value for key, value in part.items() if key not in _CHANGING}


def tool_part(fixed: Mapping[str, Any], call: Mapping[Any, Any]) -> Part:
    """A tool's part, from what never changes and the call's row."""
    part: Part = {**fixed, "input": call["input"]}
    if call["state"] != "done":
        part["state"] = "input-available"
    elif call["error_text"] is not None:
        part |= {"state": "output-error", "errorText": call["error_text"]}
    else:
        part |= {"state": "output-available", "output": call["output"]}
    return part


async def stored_parts(session: Session, message_ids: Sequence[UUID]) -> dict[UUID, list[Part]]:
    """The parts of each message, in order; a message without parts has an empty list."""
    found: dict[UUID, list[Part]] = {id: [] for id in message_ids}
    rows = await session.execute(
        select(
            MessagePart.message_id,
            MessagePart.data,
            MessagePart.call_id,
            ToolCall.state,
            ToolCall.input,
            ToolCall.output,
            ToolCall.error_text,
        )
        .outerjoin(ToolCall, ToolCall.id == MessagePart.call_id)
        .where(MessagePart.message_id.in_(message_ids))
        .order_by(MessagePart.message_id, MessagePart.ordinal)
    )
    for row in rows.mappings():
        part = row["data"] if row["call_id"] is None else tool_part(row["data"], row)
        found[row["message_id"]].append(part)
    return found
