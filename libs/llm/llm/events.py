"""What a model call yields, whatever the wire format behind it.

The events are plain slotted dataclasses, made once per token, so they stay mutable: a frozen one costs three times as
much to build. Nobody may change one. A call yields any number of deltas, at most one `Served` and one `Usage`, and
exactly one `Finish`, which is always the last; a call that cannot get there raises a `ModelError` instead.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "error", "other"]


@dataclass(slots=True)
class TextDelta:
    """The next piece of the answer; never empty."""

    text: str


@dataclass(slots=True)
class ReasoningDelta:
    """The next piece of the model's visible reasoning; never empty."""

    text: str


@dataclass(slots=True)
class ReasoningData:
    """What the provider wants back of the reasoning just told (a signature, an encrypted item): ends that reasoning.

    It may come without any reasoning text before it. Kept as `Reasoning(text, provider, data)` of the `Assistant`
    message, and sent back only to the `provider` (an opaque word: wire, model and key) that gave it.
    """

    provider: str
    data: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class HostedSearchStart:
    """The provider itself begins to search the web; `query` is empty where it is only told at the end."""

    id: str
    query: str = ""


@dataclass(slots=True)
class HostedSearchEnd:
    """The provider's search with this id is over."""

    id: str
    query: str = ""


@dataclass(slots=True)
class Source:
    """A page that the answer rests on, each address once in a call."""

    url: str
    title: str = ""


@dataclass(slots=True)
class ToolCallStart:
    """A tool call begins. `index` counts this call's tool calls from 0 in the order in which they began.

    `provider_call_id` is the provider's own id, of any length; it goes back unchanged with the tool's result.
    """

    index: int
    provider_call_id: str
    name: str


@dataclass(slots=True)
class ToolCallDelta:
    """The next piece of the arguments (JSON text, perhaps malformed) of the tool call with this index; never empty."""

    index: int
    arguments: str


@dataclass(slots=True)
class Usage:
    """Tokens of the whole call; comes just before `Finish`, if the provider reports it at all.

    `cached` and `written` (into the provider's cache, which some charge for) are parts of `input`, `reasoning` a part
    of `output`. `searches` counts the provider's own web searches. `cost` is in millionths of a dollar and None unless
    the provider itself reported it.
    """

    input: int
    cached: int
    output: int
    reasoning: int
    cost: int | None = None
    written: int = 0
    searches: int = 0


@dataclass(slots=True)
class Served:
    """Which concrete model answers, as the provider names it, and the provider's id of this response (may be empty)."""

    model: str
    response_id: str


@dataclass(slots=True)
class Finish:
    """The call is over. `raw` is the provider's own word; `other` means that it gave none, or one nobody knows.

    The reason is `tool_calls` whenever calls were made and the provider said "stop"; a provider may also say
    `tool_calls` without having made one.
    """

    reason: FinishReason
    raw: str = ""


Event = (
    TextDelta
    | ReasoningDelta
    | ReasoningData
    | HostedSearchStart
    | HostedSearchEnd
    | Source
    | ToolCallStart
    | ToolCallDelta
    | Usage
    | Served
    | Finish
)
