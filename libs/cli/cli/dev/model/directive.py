"""Scripts inside a message: `[[tokens=200 rate=20 tool=calculator:{"expression": "2+2"}]]`.

Each directive of the last user message is one step of the answer: the first model call plays the first, the call that
brings the tool results plays the second, and so on. A bare name means true; `tool` may come several times, its
arguments being JSON, or a JSON string with any text (malformed arguments, for instance).
"""

import json
import re
from typing import Any

from cli.dev.model.reply import CHOICES, TYPES, Reply, ScriptError, reply_from

WORD = re.compile(r"\s*([a-z_]+)(=?)")
DECODER = json.JSONDecoder()


def directives(message: str) -> list[Reply]:
    """The replies that a message asks for, in order. Raises `ScriptError`."""
    replies: list[Reply] = []
    at = message.find("[[")
    while at >= 0:
        values, end = _read(message, at + 2)
        replies.append(reply_from(values))
        at = message.find("[[", end)
    return replies


def _read(message: str, at: int) -> tuple[dict[str, Any], int]:
    values: dict[str, Any] = {}
    while True:
        at += len(message[at:]) - len(message[at:].lstrip())
        if message.startswith("]]", at):
            return values, at + 2
        found = WORD.match(message, at)
        if not found:
            raise ScriptError(f"a directive goes wrong at “{message[at : at + 30]}”")
        name, at = found.group(1), found.end()
        if not found.group(2):
            values[name] = True
        elif name == "tool":
            call, at = _tool(message, at)
            values.setdefault("tools", []).append(call)
        else:
            values[name], at = _value(name, message, at)


def _tool(message: str, at: int) -> tuple[dict[str, Any], int]:
    found = re.compile(r"([\w.-]+)(:?)").match(message, at)
    if not found:
        raise ScriptError(f"tool= needs a name at “{message[at : at + 30]}”")
    if not found.group(2):
        return {"name": found.group(1)}, found.end()
    arguments, end = _json(message, found.end())
    return {"name": found.group(1), "arguments": arguments}, end


def _value(name: str, message: str, at: int) -> tuple[Any, int]:
    if message[at : at + 1] in ('"', "{"):
        return _json(message, at)
    end = re.compile(r"\s|\]\]|$").search(message, at)
    assert end is not None
    word = message[at : end.start()]
    if TYPES.get(name) is bool:
        return word.lower() not in ("0", "false", "no"), end.start()
    if TYPES.get(name) in (str, str | None) or name in CHOICES:
        return word, end.start()
    try:
        return float(word), end.start()
    except ValueError:
        return word, end.start()


def _json(message: str, at: int) -> tuple[Any, int]:
    try:
        return DECODER.raw_decode(message, at)
    except ValueError as error:
        raise ScriptError(f"this is not JSON: “{message[at : at + 40]}”") from error
