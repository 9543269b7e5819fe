"""Our request into the body of Ollama's own `/api/chat`: the writing half."""

import os
from dataclasses import dataclass
from typing import Any

import orjson

from llm.chat_request import arguments_of
from llm.requests import Assistant, Request, System, ToolResult, User

ROOMY = 24 * 1024**3  # bytes of memory from which on a machine is given the larger context
LARGE, SMALL = 32_768, 16_384


@dataclass(slots=True, frozen=True)
class OllamaSettings:
    """What is asked of an Ollama server.

    context:    tokens of context (`num_ctx`) that a model is loaded with; None: 32,768 if this machine has 24 GiB of
                memory, else 16,384. Ollama's own default is so small that it forgets the instructions.
    keep_alive: how long a model stays loaded after a call, in Ollama's words: `30m`, `-1` for ever, `0` not at all.
    """

    context: int | None = None
    keep_alive: str = "30m"

    @property
    def context_size(self) -> int:
        """Tokens."""
        return self.context or (LARGE if _memory() >= ROOMY else SMALL)


def _memory() -> int:
    """Bytes of this machine's memory; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 0


def encode(request: Request, name: str, settings: OllamaSettings, *, refused: frozenset[str] = frozenset()) -> bytes:
    """The JSON body. Reasoning of earlier steps is left out; tools too where none may be called, for it would."""
    options: dict[str, Any] = {"num_ctx": settings.context_size}
    if request.max_tokens is not None:
        options["num_predict"] = request.max_tokens
    if request.temperature is not None:
        options["temperature"] = request.temperature
    keep: str = settings.keep_alive
    body: dict[str, Any] = {
        "model": name,
        "messages": _messages(request),
        "stream": True,
        # A bare number is a number of seconds, and only as a number.
        "keep_alive": int(keep) if keep.lstrip("-").isdigit() else keep,
        "options": options,
    }
    if request.tools and request.tool_choice != "none":
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in request.tools
        ]
    if request.effort and "effort" not in refused:
        body["think"] = _think(name, request.effort)
    return orjson.dumps(body)


def _think(name: str, effort: str) -> bool | str:
    """Only OpenAI's open models know degrees; the others think or do not."""
    if "gpt-oss" in name:
        return {"none": "low", "minimal": "low", "xhigh": "high", "max": "high"}.get(effort, effort)
    return effort not in ("none", "minimal")


def _messages(request: Request) -> list[dict[str, Any]]:
    names: dict[str, str] = {}
    messages: list[dict[str, Any]] = []
    for message in request.messages:
        match message:
            case System(text):
                messages.append({"role": "system", "content": text})
            case User(text):
                messages.append({"role": "user", "content": text})
            case ToolResult(call_id, text):
                # Older servers know the call by its tool's name only.
                name = names.get(call_id, "")
                messages.append({"role": "tool", "tool_name": name, "tool_call_id": call_id, "content": text})
            case Assistant(text, calls):
                said: dict[str, Any] = {"role": "assistant", "content": text}
                if calls:
                    names.update((call.provider_call_id, call.name) for call in calls)
                    said["tool_calls"] = [
                        {
                            "id": call.provider_call_id,
                            "function": {"name": call.name, "arguments": orjson.loads(arguments_of(call.arguments))},
                        }
                        for call in calls
                    ]
                messages.append(said)
    return messages
