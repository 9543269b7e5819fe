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
class Reasoning:
    """Reasoning of one step, as its `ReasoningData` closed it; `provider` and `data` are that event's.

    A wire sends back only what it has given itself, for the same model and key; all else it leaves out.
    """

    text: str
    provider: str = ""
    data: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True, frozen=True)
class Assistant:
    """What the model said in one step; each of its calls must be followed by its `ToolResult`."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()


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
class HostedSearch:
    """The provider may search the web; the approximate place of the user, each part only if it may be told."""

    country: str = ""
    city: str = ""
    region: str = ""
    timezone: str = ""


@dataclass(slots=True, frozen=True)
class Request:
    """One model call. `max_tokens` bounds the answer (reasoning included); None leaves it to the provider.

    effort:        how hard to think, in the provider's word; only where the catalogue says that the model knows it.
    hosted_search: only for a model that was resolved with `Wants(hosted_search=True)` and whose wire is able to.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = field(default=())
    tool_choice: ToolChoice = "auto"
    max_tokens: int | None = None
    temperature: float | None = None
    effort: str | None = None
    hosted_search: HostedSearch | None = None
