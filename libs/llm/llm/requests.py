"""What is asked of a model, in words that no provider owns; each wire format translates from here."""

from dataclasses import dataclass, field
from typing import Any, Literal

ToolChoice = Literal["auto", "none", "required"]


@dataclass(slots=True, frozen=True)
class System:
    """Instructions. Providers cache by prefix: keep the stable text first and byte-stable."""

    text: str


@dataclass(slots=True, frozen=True)
class User:
    """What a person said."""

    text: str


@dataclass(slots=True, frozen=True)
class ToolCall:
    """A call that the model made: the provider's id, unchanged, and the arguments as the JSON text it wrote."""

    provider_call_id: str
    name: str
    arguments: str


@dataclass(slots=True, frozen=True)
class Assistant:
    """What the model said in one step; each of its calls must be followed by its `ToolResult`."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass(slots=True, frozen=True)
class ToolResult:
    """What a tool answered, as text."""

    provider_call_id: str
    text: str


Message = System | User | Assistant | ToolResult


@dataclass(slots=True, frozen=True)
class Tool:
    """A tool on offer. `schema` is a JSON schema of type object."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(slots=True, frozen=True)
class Request:
    """One model call. `max_tokens` bounds the answer (reasoning included); None leaves it to the provider."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = field(default=())
    tool_choice: ToolChoice = "auto"
    max_tokens: int | None = None
    temperature: float | None = None
