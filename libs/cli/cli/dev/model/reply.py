"""What one model call is answered with: the tokens, the calls, the pace, and the fault, if any."""

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, cast

FAULTS = ("status", "html", "silence", "reset", "cut", "hang", "garbage", "error")
CHOICES = {
    "finish": ("", "stop", "length", "tool_calls", "content_filter", "none"),
    "usage": ("last", "late", "finish", "none"),
    "calls": ("fragments", "whole", "no_index", "same_index", "empty"),
    "reasoning_field": ("reasoning_content", "reasoning"),
}


class ScriptError(ValueError):
    """The script or directive makes no sense; the text says where."""


@dataclass(slots=True, frozen=True)
class PlayedCall:
    """A tool call to make. `arguments` is the JSON text as sent, which may be malformed on purpose."""

    name: str
    arguments: str = "{}"
    id: str = ""


@dataclass(slots=True, frozen=True, kw_only=True)
class Reply:
    """One answer. Counts are tokens (one chunk each), times are seconds.

    text:      what to say, sent word by word; None: `tokens` varied words (20, or none beside tool calls).
    reasoning: tokens of reasoning before the text.
    rate:      tokens per second; 0: as fast as the client reads.
    delay:     before the response headers; `think`: from the headers to the first token.
    stamp:     each token's text is `NUMBER:NANOSECONDS `, the monotonic clock when it was sent.
    tools:     calls made after the text; `calls` is how they are put on the wire.
    finish:    the finish reason; empty: what fits; `none`: no finish reason is sent.
    search:    a search of the web by the provider itself, with this query, where the request lets it search.
    sources:   the pages that the text cites, as (address, title).
    cost:      in dollars, told with the usage to who asks for it (OpenRouter's way, on the chat wire).
    usage:     in a chunk of its own at the end (`last`), 0.3 s late, on the `finish` chunk, or not at all (`none`).
    again:     this reply is played at every later step too, for as long as tools are offered: a model in a loop.
    done:      whether `[DONE]` is sent. `crlf` and `comments` vary the framing; `bytes` is the size of each write.

    Faults: `status` (with `retry_after`), `html` with 200, `silence` (accept, then nothing); and after so many tokens
    `reset` (a TCP reset within a chunk), `cut` (a clean end, no finish), `hang`, `garbage` (broken JSON), `error` (an
    error object). With `times`, a conversation meets the fault that often and then the rest of the reply. `refuses`
    names a parameter that is not taken: 400 for as long as the request has it.
    """

    text: str | None = None
    tokens: int | None = None
    reasoning: int = 0
    rate: float = 0
    delay: float = 0
    think: float = 0
    stamp: bool = False
    tools: tuple[PlayedCall, ...] = ()
    calls: str = "fragments"
    again: bool = False
    finish: str = ""
    search: str = ""
    sources: tuple[tuple[str, str], ...] = ()
    cost: float | None = None
    usage: str = "last"
    done: bool = True
    crlf: bool = False
    comments: bool = False
    bytes: int = 0
    reasoning_field: str = "reasoning_content"
    refuses: str = ""
    status: int = 0
    retry_after: float | None = None
    html: bool = False
    silence: bool = False
    reset: int | None = None
    cut: int | None = None
    hang: int | None = None
    garbage: int | None = None
    error: int | None = None
    times: int = 0

    @property
    def words(self) -> int:
        """How many words to make up."""
        return self.tokens if self.tokens is not None else 0 if self.tools else 20

    def healthy(self) -> "Reply":
        """This reply without its fault."""
        return replace(self, **{name: DEFAULTS[name] for name in FAULTS})

    @property
    def faulty(self) -> bool:
        return any(getattr(self, name) != DEFAULTS[name] for name in FAULTS)

    def changed(self) -> dict[str, Any]:
        """The fields that differ from the defaults, for people and records."""
        changed = {name: value for name, value in asdict(self).items() if value != DEFAULTS[name]}
        return {**changed, "sources": dict(self.sources)} if self.sources else changed


DEFAULTS: dict[str, Any] = asdict(Reply())
TYPES: dict[str, Any] = {field.name: field.type for field in fields(Reply)}


def reply_from(values: dict[str, Any]) -> Reply:
    """A reply from JSON. Raises `ScriptError` for unknown names and values that do not fit."""
    checked: dict[str, Any] = {}
    for name, value in values.items():
        if name not in TYPES:
            raise ScriptError(f"a reply has no “{name}”; it has {', '.join(TYPES)}")
        if name == "tools":
            checked[name] = tuple(_call(call) for call in value)
        elif name == "sources":
            sources = as_object(value, "sources are {address: title, …}")
            checked[name] = tuple((url, str(title)) for url, title in sources.items())
        else:
            checked[name] = _checked(name, value)
    return Reply(**checked)


def _checked(name: str, value: Any) -> Any:
    kind = TYPES[name]
    if name in CHOICES and value not in CHOICES[name]:
        raise ScriptError(f"“{name}” is one of {', '.join(filter(None, CHOICES[name]))}, not {value!r}")
    if value is None and "None" in str(kind):
        return value
    if kind is bool and isinstance(value, bool):
        return value
    if kind is str or kind == str | None:
        if isinstance(value, str):
            return value
    elif kind is not bool and isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        if kind in (float, float | None):
            return float(value)
        if int(value) == value:
            return int(value)
    raise ScriptError(f"“{name}” cannot be {value!r}")


def _call(value: Any) -> PlayedCall:
    call = as_object(value, "a tool call is {name, arguments?, id?}")
    if not isinstance(call.get("name"), str):
        raise ScriptError(f"a tool call needs a name: {value!r}")
    arguments: Any = call.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return PlayedCall(call["name"], text, str(call.get("id", "")))


def as_object(value: Any, otherwise: str) -> dict[str, Any]:
    """The value, if it is a JSON object. Raises `ScriptError` with the sentence given."""
    if not isinstance(value, dict):
        raise ScriptError(f"{otherwise}, not {value!r}")
    return cast("dict[str, Any]", value)
