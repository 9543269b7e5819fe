"""One random password per server and service, made once and kept in the data folder (0600)."""

import secrets
from collections.abc import Iterable
from pathlib import Path

from cli.up.private_files import read_json, write_private_json

# 32 bytes as hex: the form in which services expect their signing key.
SIGNING_KEY = "signing_key"


def load_secrets(path: Path, names: Iterable[str]) -> dict[str, str]:
    """The secrets of these names; those that are missing are made and written down first."""
    kept: dict[str, str] = read_json(path) or {}
    missing = [name for name in names if name not in kept]
    if missing:
        kept |= {name: _make(name) for name in missing}
        write_private_json(path, kept)
    return kept


def _make(name: str) -> str:
    # Passwords travel in URLs, so they are made of letters that need no quoting.
    return secrets.token_hex(32) if name == SIGNING_KEY else secrets.token_urlsafe(32)
