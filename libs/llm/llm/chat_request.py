"""Our request into the body of a chat completion: the writing half of the OpenAI wire."""

from typing import Any

import orjson

from llm.requests import Assistant, Message, Request, System, ToolCall, User


def encode(request: Request, name: str, *, limit_field: str = "max_tokens") -> bytes:
    """The JSON body. `limit_field` is what this provider calls the bound on the answer."""
    body: dict[str, Any] = {
        "model": name,
        "messages": [_message(message) for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in request.tools
        ]
        # "auto" is the default everywhere, and some local servers refuse to be told.
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
    if request.max_tokens is not None:
        body[limit_field] = request.max_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return orjson.dumps(body)


def _message(message: Message) -> dict[str, Any]:
    if isinstance(message, System):
        return {"role": "system", "content": message.text}
    if isinstance(message, User):
        return {"role": "user", "content": message.text}
    if isinstance(message, Assistant):
        said: dict[str, Any] = {"role": "assistant", "content": message.text or (None if message.calls else "")}
        if message.calls:
            said["tool_calls"] = [_call(call) for call in message.calls]
        return said
    return {"role": "tool", "tool_call_id": message.provider_call_id, "content": message.text}


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": _arguments(call.arguments)}
    return {"id": call.provider_call_id, "type": "function", "function": function}


def _arguments(text: str) -> str:
    # Servers that render a chat template parse these; malformed ones would fail every later call of the thread.
    try:
        if isinstance(orjson.loads(text), dict):
            return text
    except ValueError:
        pass
    return orjson.dumps({"malformed_arguments": text}).decode() if text.strip() else "{}"
