"""Our request into the body of a chat completion: the writing half of the OpenAI wire."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from llm.quirks import short_id
from llm.reasoning import own, turn_begins
from llm.requests import Assistant, Message, Request, System, ToolResult, User


@dataclass(slots=True, frozen=True)
class Dialect:
    """How a provider's wire differs from the common one.

    limit_field: what it calls the bound on an answer.
    effort:      where the effort goes: `reasoning_effort`, or OpenRouter's `reasoning: {effort}`.
    counts_cost: it reports the cost of a call if asked to (OpenRouter).
    """

    limit_field: str = "max_tokens"
    effort: Literal["reasoning_effort", "reasoning"] = "reasoning_effort"
    counts_cost: bool = False


COMMON = Dialect()
# OpenAI's reasoning models refuse the old name, most imitators do not know the new one.
OPENAI = Dialect(limit_field="max_completion_tokens")
OPENROUTER = Dialect(effort="reasoning", counts_cost=True)
OTHER_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


def encode(
    request: Request, name: str, *, dialect: Dialect = COMMON, origin: str = "", refused: frozenset[str] = frozenset()
) -> bytes:
    """The JSON body. `origin` is whose reasoning may be sent back, `refused` what is left out (see `quirks`)."""
    id_of = short_id if "ids" in refused else str
    body: dict[str, Any] = {
        "model": name,
        "messages": _messages(request.messages, "" if "reasoning" in refused else origin, id_of),
        "stream": True,
    }
    if "stream_options" not in refused:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in request.tools
        ]
        # "auto" is the default everywhere, and some local servers refuse to be told.
        if request.tool_choice != "auto" and "tool_choice" not in refused:
            body["tool_choice"] = request.tool_choice
    if request.max_tokens is not None:
        limit = OTHER_LIMIT[dialect.limit_field] if "limit" in refused else dialect.limit_field
        body[limit] = request.max_tokens
    if request.temperature is not None and "temperature" not in refused:
        body["temperature"] = request.temperature
    if request.effort and "effort" not in refused:
        body[dialect.effort] = request.effort if dialect.effort == "reasoning_effort" else {"effort": request.effort}
    if dialect.counts_cost:
        body["usage"] = {"include": True}
    return orjson.dumps(body)


def arguments_of(text: str) -> str:
    """Arguments that every provider takes back: the text itself if it is a JSON object, else one that holds it."""
    # Servers that render a chat template parse these; malformed ones would fail every later call of the thread.
    try:
        if isinstance(orjson.loads(text), dict):
            return text
    except ValueError:
        pass
    return orjson.dumps({"malformed_arguments": text}).decode() if text.strip() else "{}"


def _messages(messages: Sequence[Message], origin: str, id_of: Callable[[str], str]) -> list[dict[str, Any]]:
    begins = turn_begins(messages)
    said: list[dict[str, Any]] = []
    for at, message in enumerate(messages):
        match message:
            case System(text):
                said.append({"role": "system", "content": text})
            case User(text):
                said.append({"role": "user", "content": text})
            case ToolResult(call_id, text):
                said.append({"role": "tool", "tool_call_id": id_of(call_id), "content": text})
            case Assistant():
                said.append(_said(message, origin if at > begins else "", id_of))
    return said


def _said(message: Assistant, origin: str, id_of: Callable[[str], str]) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": message.text or (None if message.calls else "")}
    if message.calls:
        said["tool_calls"] = [
            {
                "id": id_of(call.provider_call_id),
                "type": "function",
                "function": {"name": call.name, "arguments": arguments_of(call.arguments)},
            }
            for call in message.calls
        ]
    if origin and message.reasoning:
        _think_again(message, origin, said)
    return said


def _think_again(message: Assistant, origin: str, said: dict[str, Any]) -> None:
    """The reasoning of the steps of this turn in the field it came in: some models do not go on without it."""
    for text, data in own(message, origin):
        if details := data.get("details"):
            said["reasoning_details"] = [*said.get("reasoning_details", ()), *details]
        elif field := data.get("field"):
            said[field] = said.get(field, "") + text
