"""What a model call yields, whatever the wire format behind it.

The events are plain slotted dataclasses, made once per token, so they stay mutable: a frozen one costs three times as
much to build. Nobody may change one. A call yields any number of deltas, at most one `Served` and one `Usage`, and
exactly one `Finish`, which is always the last; a call that cannot get there raises a `ModelError` instead.
"""

from dataclasses import dataclass
from typing import Literal

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

    `cached` is a part of `input`, `reasoning` a part of `output`. `cost` is in millionths of a dollar and None
    unless the provider itself reported it.
    """

    input: int
    cached: int
    output: int
    reasoning: int
    cost: int | None = None


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


Event = TextDelta | ReasoningDelta | ToolCallStart | ToolCallDelta | Usage | Served | Finish
