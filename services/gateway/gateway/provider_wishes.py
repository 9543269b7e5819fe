"""What a provider may be: its kinds, its name, its address, its key; refused in words where it cannot be."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from chassis.errors import Refused
from gateway.answers import invalid


@dataclass(frozen=True, slots=True)
class KindInfo:
    kind: str
    title: str
    needs_key: bool
    needs_address: bool
    key_page: str | None = None
    """Where a person gets a key."""


KINDS = {
    info.kind: info
    for info in (
        KindInfo("openai", "OpenAI", True, False, "https://platform.openai.com/api-keys"),
        KindInfo("anthropic", "Anthropic", True, False, "https://console.anthropic.com/settings/keys"),
        KindInfo("gemini", "Google Gemini", True, False, "https://aistudio.google.com/apikey"),
        KindInfo("openrouter", "OpenRouter", True, False, "https://openrouter.ai/settings/keys"),
        KindInfo("ollama", "Ollama", False, True),
        KindInfo("compatible", "OpenAI-compatible server", False, True),
    )
}
"""In the order in which they are offered; a contract test holds them to the runner's."""

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
RESERVED = ("demo",)


def kind_of(kind: str) -> KindInfo:
    info = KINDS.get(kind)
    if info is None:
        raise _wrong("kind", f"must be one of {', '.join(KINDS)}")
    return info


def checked_name(name: str) -> str:
    if not NAME.fullmatch(name) or name in RESERVED:
        raise _wrong("name", "must be up to 40 small letters, digits, dots, dashes and underscores, and not demo")
    return name


def checked_address(address: str) -> str:
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, is_address = None, False
    if not is_address or parts is None:
        raise _wrong("base_url", "must be an address such as http://127.0.0.1:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise _wrong("base_url", "must not hold a password; give it as the key")
    if parts.query or parts.fragment:
        raise _wrong("base_url", "must end with a path, without ? or #")
    return address.rstrip("/")


def checked_key(key: str) -> str:
    if not key.isascii() or not key.isprintable() or " " in key:
        raise _wrong("key", "has letters in it that no key has; copy it again")
    return key


def demand(info: KindInfo, key: str, address: str) -> None:
    if info.needs_key and not key and not address:
        raise _wrong("key", f"{info.title} needs a key")
    if info.needs_address and not address:
        raise _wrong("base_url", "an address is needed")


def free_name(kind: str, taken: Collection[str]) -> str:
    """The kind's own name, with a number where that is taken."""
    names = [kind, *(f"{kind}-{number}" for number in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)


def hint_of(key: str) -> str:
    """The end of a key, for people to tell two apart; nothing of one that is short enough to be guessed on."""
    return f"…{key[-4:]}" if len(key) >= 16 else "…"


def _wrong(field: str, message: str) -> Refused:
    return invalid(f"{field}: {message}.", field=field, fields=[{"field": field, "message": message}])
