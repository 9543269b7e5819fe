"""`demo/tour`: a scripted stand-in that answers without any provider, so that a fresh installation shows something.

It says plainly what it is. It calls `current_time` and `calculator` where the words suggest it, and explains how to
connect a real model. Deterministic: the same request gives the same events; only the pace is a parameter.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import orjson

from llm.call import Call, Model
from llm.events import Event, Finish, Served, TextDelta, ToolCallDelta, ToolCallStart, Usage
from llm.requests import Request, Tool, ToolResult, User

MODEL_ID = "demo/tour"
PACE = 0.03  # seconds between words
LONGEST_QUOTE = 2000
LONGEST_LOOK = 2000  # characters of a message that are searched for sums: looking takes the square of them

CLOCK = re.compile(r"\b(time|date|day|today|clock|now|uhr|zeit|heute|datum)\b", re.I)
SUM = re.compile(r"(?<![\w.-])\(*\s*\d[\d\s.()]*(?:(?:\*\*|[-+*/×÷^])\s*\(*\s*\d[\d.]*+\s*\)*\s*)+(?![\w-])")
NO_SUM = re.compile(  # looks like one to the above: an id, a date
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b\d{4}-\d\d-\d\d(?:T[\d:.+-]*)?|\b\d{1,2}([-/.])\d{1,2}\1\d{2,4}\b",
    re.I,
)

STAND_IN = (
    "I am **demo/tour**, a scripted stand-in: no language model is connected to this Retinue yet, "
    "so what I say is written in advance."
)

TOUR = """You can already see how an answer behaves here:

- it **streams**, and goes on when you reload the page or open it in a second window;
- the stop button ends it, and what was said until then is kept;
- I can call tools: ask me *what time is it?* or *what is 12 * 34?*

To talk to a real model, connect a provider: the page `/start` (and later **Settings**) takes the key of OpenAI,
Anthropic, Gemini or OpenRouter, finds an Ollama that runs here, and tries any compatible address. Or set variables:

```sh
export OPENAI_API_KEY=...                           # its key
export OPENAI_BASE_URL=https://provider.example/v1  # if not OpenAI
export RETINUE_MODEL=openai/NAME                    # your choice
make up
```

| variable | needed | example |
| --- | --- | --- |
| `OPENAI_API_KEY` | by most providers | a key |
| `OPENAI_BASE_URL` | for any other compatible server | `http://127.0.0.1:8000/v1` |
| `OLLAMA_BASE_URL` | for an Ollama elsewhere | `http://127.0.0.1:11434` |
| `RETINUE_MODEL` | to choose the model | `openai/gpt-5.6-terra` |

As soon as a provider is set, I am not used any more."""


class DemoModel(Model):
    """The stand-in. `pace` is the time in seconds between two words; 0 sends them as fast as they are read."""

    wire = "demo"

    def __init__(self, pace: float = PACE) -> None:
        self.id = MODEL_ID
        self._pace = pace

    def call(self, request: Request) -> "DemoCall":
        return DemoCall(request, self._pace)


class DemoCall(Call):
    """One scripted answer."""

    def __init__(self, request: Request, pace: float) -> None:
        super().__init__()
        self._request = request
        self._pace = pace
        self._closed = False

    async def stream(self) -> AsyncIterator[list[Event]]:
        yield [Served("tour", "")]
        words = 0
        script = play(self._request)
        for event in script:
            if self._closed:
                return
            if self._pace:
                await asyncio.sleep(self._pace)
            words += 1
            yield [event]
        self.usage = Usage(input=_size(self._request), cached=0, output=words, reasoning=0, cost=0)
        called = any(isinstance(event, ToolCallStart) for event in script)
        yield [self.usage, Finish("tool_calls" if called else "stop")]

    async def aclose(self) -> None:
        self._closed = True


def play(request: Request) -> list[Event]:
    """The events of the answer, without pace, usage and finish."""
    asked = max((i for i, message in enumerate(request.messages) if isinstance(message, User)), default=-1)
    words = request.messages[asked].text if asked >= 0 else ""  # pyright: ignore[reportAttributeAccessIssue]
    words = str(words)[:LONGEST_LOOK]
    results = [message.text for message in request.messages[asked + 1 :] if isinstance(message, ToolResult)]
    if results:
        answers = "\n\n".join(f"> {line}" for result in results for line in _in_words(result))
        return _said(f"{STAND_IN} But I did call the tools, and this is what they found:\n\n{answers}")
    calls = [] if request.tool_choice == "none" else _calls(words, request.tools)
    if not calls:
        return _said(f"{STAND_IN}\n\n{TOUR}")
    events = _said("I can look that up with a tool.")
    for index, (tool, arguments) in enumerate(calls):
        text = orjson.dumps(arguments).decode()
        events.append(ToolCallStart(index, f"demo-{len(request.messages)}-{index}", tool.name))
        events += [ToolCallDelta(index, text[at : at + 8]) for at in range(0, len(text), 8)]
    return events


def _calls(words: str, tools: tuple[Tool, ...]) -> list[tuple[Tool, dict[str, str]]]:
    offered = {tool.name: tool for tool in tools}
    calls: list[tuple[Tool, dict[str, str]]] = []
    if (tool := offered.get("calculator")) and (found := SUM.search(NO_SUM.sub("…", words))):
        expression = found.group().strip().rstrip(".").replace("×", "*").replace("÷", "/").replace("^", "**")
        calls.append((tool, _arguments(tool, expression)))
    if (tool := offered.get("current_time")) and CLOCK.search(words):
        calls.append((tool, _arguments(tool, "UTC")))
    return calls


def _arguments(tool: Tool, value: str) -> dict[str, str]:
    required: list[Any] = tool.schema.get("required") or []
    return {str(name): value for name in required[:1]}


def _in_words(result: str) -> list[str]:
    """A tool's result as a person would say it; one that is no JSON as it stands."""
    try:
        found = orjson.loads(result)
    except orjson.JSONDecodeError:
        return result[:LONGEST_QUOTE].splitlines()
    match found:
        case {"expression": expression, "result": outcome}:
            return [f"`{expression}` is {outcome}."]
        case {"local": str(local), "weekday": weekday, "zone": zone}:
            day, _, clock = local.partition("T")
            return [f"It is {weekday}, {day}, {clock[:8]} ({zone})."]
        case {**fields}:
            return [f"{name}: {_short(value)}" for name, value in fields.items()]
        case _:
            return [_short(found)]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text[:LONGEST_QUOTE]


def _said(text: str) -> list[Event]:
    return [TextDelta(piece) for piece in re.findall(r"\s*\S+|\s+$", text)]


def _size(request: Request) -> int:
    # About four characters a token; a message without text of its own counts as nothing.
    return sum(len(message.text) for message in request.messages) // 4
