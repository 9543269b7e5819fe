"""Our request into the body of OpenAI's Responses wire: the writing half. Nothing is kept on their side."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from llm.chat_request import arguments_of
from llm.quirks import short_id
from llm.reasoning import own, turn_begins
from llm.requests import Assistant, HostedSearch, Message, Request, System, ToolResult, User

# Others refuse to be asked for reasoning at all. Newer families reason as well, hence the open end.
REASONS = re.compile(r"^(o[1-9]|gpt-(?:[5-9]|\d\d)(?!.*-chat)|codex|computer-use)")


def encode(request: Request, name: str, *, origin: str = "", refused: frozenset[str] = frozenset()) -> bytes:
    """The JSON body. `refused` are parts that this model does not take (see `quirks`)."""
    body: dict[str, Any] = {
        "model": name,
        "input": _input(request.messages, origin, short_id if "ids" in refused else str),
        "stream": True,
        "store": False,
    }
    if tools := _tools(request):
        body["tools"] = tools
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
    if REASONS.match(name) or request.effort:
        reasoning: dict[str, Any] = {}
        if request.effort and "effort" not in refused:
            # Who thinks that little may not search.
            searches_little = request.effort == "minimal" and request.hosted_search is not None
            reasoning["effort"] = "low" if searches_little else request.effort
        if "summary" not in refused:
            reasoning["summary"] = "auto"
        if reasoning:
            body["reasoning"] = reasoning
        if "encrypted" not in refused:
            body["include"] = ["reasoning.encrypted_content"]
    if request.max_tokens is not None and "limit" not in refused:
        body["max_output_tokens"] = max(request.max_tokens, 16)  # less is refused
    if request.temperature is not None and "temperature" not in refused:
        body["temperature"] = request.temperature
    return orjson.dumps(body)


def _tools(request: Request) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
            "strict": False,
        }
        for tool in request.tools
    ]
    if request.hosted_search is not None:
        tools.append(_search(request.hosted_search))
    return tools


def _search(search: HostedSearch) -> dict[str, Any]:
    parts = {"country": search.country, "city": search.city, "region": search.region, "timezone": search.timezone}
    place = {name: value for name, value in parts.items() if value}
    tool: dict[str, Any] = {"type": "web_search"}
    if place:
        tool["user_location"] = {"type": "approximate", **place}
    return tool


def _input(messages: Sequence[Message], origin: str, id_of: Callable[[str], str]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    begins = turn_begins(messages)
    for at, message in enumerate(messages):
        match message:
            case System(text):
                items.append({"role": "system", "content": text})
            case User(text):
                items.append({"role": "user", "content": text})
            case ToolResult(call_id, text):
                items.append({"type": "function_call_output", "call_id": id_of(call_id), "output": text})
            case Assistant():
                # Reasoning of earlier turns is thrown away over there, so that it need not be sent.
                items += _steps(message, origin if at > begins else "", id_of)
    return items


def _steps(message: Assistant, origin: str, id_of: Callable[[str], str]) -> list[dict[str, Any]]:
    """Text and calls, each kept item again before what it stood before."""
    kept = [data for _, data in own(message, origin) if "item" in data] if origin else []
    before_text = [data["item"] for data in kept if not data.get("said") and not data.get("calls")]
    items: list[dict[str, Any]] = list(before_text)
    if message.text:
        items.append({"role": "assistant", "content": message.text})
    later = [data for data in kept if data.get("said") or data.get("calls")]
    for number, call in enumerate(message.calls):
        items += [data["item"] for data in later if min(int(data.get("calls") or 0), len(message.calls) - 1) == number]
        items.append(
            {
                "type": "function_call",
                "call_id": id_of(call.provider_call_id),
                "name": call.name,
                "arguments": arguments_of(call.arguments),
            }
        )
    return items
