"""Our request as litellm's `acompletion` takes it, for Anthropic's and Gemini's wires."""

from collections.abc import Mapping
from typing import Any

from llm.catalogue_names import read
from llm.chat_request import arguments_of
from llm.reasoning import own, turn_begins
from llm.requests import Assistant, HostedSearch, Message, Request, System, ToolCall, User

CACHED: Mapping[str, str] = {"type": "ephemeral"}
DECIDES_ITSELF = (4, 6)
"""From this version on Claude decides at each step whether to think; before, a turn thinks in all its steps or none."""


def arguments(request: Request, kind: str, name: str, origin: str) -> dict[str, Any]:
    """The keyword arguments that say what is asked; `origin` is whose reasoning may be sent back."""
    said: dict[str, Any] = {
        "model": f"{kind}/{name}",
        "messages": _messages(request, kind, origin),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        said["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in request.tools
        ]
        if request.tool_choice != "auto":
            said["tool_choice"] = request.tool_choice
    if request.max_tokens is not None:
        said["max_tokens"] = request.max_tokens
    if request.effort and (kind != "anthropic" or _may_think(request, name, origin)):
        said["reasoning_effort"] = request.effort
    elif request.temperature is not None:
        # Who thinks takes no temperature.
        said["temperature"] = request.temperature
    if kind == "anthropic":
        # The prefix of a conversation costs a tenth once it is cached; Anthropic caches only what is marked.
        said["cache_control"] = CACHED
        if request.hosted_search is not None:
            said["web_search_options"] = {"search_context_size": "medium", **_place(request.hosted_search)}
    if kind == "gemini":
        # Ids stay short for other providers; the signature travels as reasoning data.
        said["thought_signature_in_tool_call_id"] = False
        if request.hosted_search is not None:
            said["web_search_options"] = {}
            if request.tools:
                said["include_server_side_tool_invocations"] = True
    return said


def _may_think(request: Request, name: str, origin: str) -> bool:
    """Whether Anthropic takes an effort: never with a forced call, and of older models not half-way into a turn."""
    if request.tool_choice == "required":
        return False
    begins = turn_begins(request.messages)
    steps = [said for said in request.messages[begins + 1 :] if isinstance(said, Assistant) and said.calls]
    return read(name).version >= DECIDES_ITSELF or all(own(said, origin) for said in steps)


def _place(search: HostedSearch) -> dict[str, Any]:
    place = {
        "country": search.country,
        "region": search.region,
        "city": search.city,
        "timezone": search.timezone,
    }
    told = {name: value for name, value in place.items() if value}
    return {"user_location": {"type": "approximate", "approximate": told}} if told else {}


def _messages(request: Request, kind: str, origin: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    has_prefix = False
    begins = turn_begins(request.messages)
    for at, message in enumerate(request.messages):
        if isinstance(message, System) and kind == "anthropic" and not has_prefix:
            has_prefix = True
            text = {"type": "text", "text": message.text, "cache_control": CACHED}
            messages.append({"role": "system", "content": [text]})
        elif isinstance(message, Assistant):
            if message.text or message.calls:
                messages.append(_said(message, kind, origin, is_current=at > begins))
        else:
            messages.append(_message(message))
    return messages


def _message(message: Message) -> dict[str, Any]:
    if isinstance(message, System):
        return {"role": "system", "content": message.text}
    if isinstance(message, User):
        return {"role": "user", "content": message.text}
    assert not isinstance(message, Assistant)
    return {"role": "tool", "tool_call_id": message.provider_call_id, "content": message.text}


def _said(message: Assistant, kind: str, origin: str, *, is_current: bool) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    thought = own(message, origin)
    searched = next((data["server"] for _, data in thought if data.get("server")), None)
    if searched is not None and is_current:
        said["provider_specific_fields"] = searched
    elif searched is not None:
        # What was found is long, and an earlier turn is understood without it and the thoughts around it.
        thought = []
    if kind == "anthropic":
        if blocks := [block for text, data in thought if (block := _thinking_block(text, data))]:
            said["thinking_blocks"] = blocks
        said["tool_calls"] = [_call(call) for call in message.calls] or None
    else:
        signatures = {data["call"]: data["signature"] for _, data in thought if data.get("call")}
        said["tool_calls"] = [_call(call, signatures.get(call.provider_call_id)) for call in message.calls] or None
        fields: dict[str, Any] = {}
        for _, data in thought:
            if data.get("signature") and not data.get("call"):
                fields.setdefault("thought_signatures", []).append(data["signature"])
            if data.get("invocations"):
                fields.setdefault("server_side_tool_invocations", []).extend(data["invocations"])
        if fields:
            said["provider_specific_fields"] = fields
    return {key: value for key, value in said.items() if value is not None or key == "content"}


def _thinking_block(text: str, data: dict[str, Any]) -> dict[str, Any] | None:
    if redacted := data.get("redacted"):
        return {"type": "redacted_thinking", "data": redacted}
    # The signature covers the text: what was shortened on its way is refused.
    if data.get("signature") and data.get("length") == len(text):
        return {"type": "thinking", "thinking": text, "signature": data["signature"]}
    return None


def _call(call: ToolCall, signature: str | None = None) -> dict[str, Any]:
    said: dict[str, Any] = {
        "id": call.provider_call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_of(call.arguments)},
    }
    if signature:
        said["provider_specific_fields"] = {"thought_signature": signature}
    return said
