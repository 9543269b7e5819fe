"""The blocks in their order: what stays first, what changes last, so that providers can cache the beginning.

Everything but the last block changes only when the agent, its tools or the channel do. The last one says the local
hour: caches of providers live for minutes, so an hour costs them little, and who needs the minute has a tool for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from string import Template
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from instructions.words import words, words_for


@dataclass(frozen=True, slots=True)
class Persona:
    """Who is to answer, as the agent's owner wrote it."""

    name: str
    role: str = ""
    standing_orders: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of the instructions. A stable one is the same bytes until somebody changes the agent."""

    name: str
    text: str
    stable: bool = True


def compose(persona: Persona, tools: Sequence[str], channel: str, moment: datetime, zone: str = "") -> list[Block]:
    """The instructions for one turn. `tools` are the names of what is offered, in order; `moment` is when the turn
    began, aware of its zone; `zone` is the person's, by IANA name, empty where nobody knows it.
    """
    blocks = [
        Block("priority", words("priority")),
        Block("style", words("style")),
        Block("identity", _identity(persona)),
        Block("capabilities", _filled("capabilities", tools=", ".join(tools)) if tools else words("no_capabilities")),
    ]
    if guidance := words_for(channel):
        blocks.append(Block("channel", guidance))
    if tools:
        blocks.append(Block("tools", words("tools")))
    blocks.append(Block("time", _time(moment, zone), stable=False))
    return blocks


def text_of(blocks: Sequence[Block]) -> str:
    """The system message."""
    return "\n\n".join(block.text for block in blocks)


def stable_text(blocks: Sequence[Block]) -> str:
    """The beginning of the system message that does not change from turn to turn."""
    return text_of([block for block in blocks if block.stable])


def zone_of(name: str) -> ZoneInfo | None:
    """The zone of this name; none for one that nobody knows."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _identity(persona: Persona) -> str:
    lines = [_filled("identity", name=persona.name)]
    if persona.role:
        lines.append(_filled("role", role=persona.role))
    if persona.standing_orders:
        lines.append(_filled("standing_orders", standing_orders=persona.standing_orders))
    return "\n".join(lines)


def _time(moment: datetime, name: str) -> str:
    zone = zone_of(name)
    hour = moment.astimezone(zone or UTC).replace(minute=0)
    said = {"day": f"{hour:%A, %d %B %Y}", "hour": f"{hour:%H:%M}"}
    return _filled("time", zone=zone.key, **said) if zone else _filled("time_utc", **said)


def _filled(block: str, /, **values: str) -> str:
    """What a person wrote is put in as it is: a template is filled once, so that a `$` in it means nothing."""
    return Template(words(block)).substitute(values)
