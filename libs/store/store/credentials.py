"""How credentials are kept: passwords under argon2id, everything random under SHA-256, names folded to one key.

Pure functions. Hashing and checking a password takes tens of milliseconds of CPU: run both in a named pool.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

SCOPES = ("chat", "read", "mcp", "admin", "approve")
DEFAULT_SCOPES = ("chat", "read", "mcp")
"""What a token may do unless more was asked for: never to administer, never to approve."""

TOKEN_PREFIX = "ret_"  # noqa: S105 - says what it is, opens nothing
"""Makes a token known for what it is, to people, to secret scanners and to the mask of our logs."""

SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 256
SHORTEST_USERNAME = 3
LONGEST_USERNAME = 40

_USERNAME = re.compile(r"[^\W_][\w.@+-]*")

# Above both of OWASP's choices with one lane (19 MiB twice, 46 MiB once); about 50 ms of one core.
_HASHER = PasswordHasher(time_cost=2, memory_cost=32 * 1024, parallelism=1)


class Unfit(ValueError):
    """A user name or password that cannot be taken; the message is one sentence for the person who chose it."""


def checked_username(name: str) -> str:
    """The name as it will be shown. Raises `Unfit`."""
    shown = unicodedata.normalize("NFKC", name).strip()
    if not SHORTEST_USERNAME <= len(shown) <= LONGEST_USERNAME:
        raise Unfit(f"A user name has {SHORTEST_USERNAME} to {LONGEST_USERNAME} characters.")
    if not _USERNAME.fullmatch(shown):
        raise Unfit("A user name has letters, digits and . _ @ + - and begins with a letter or a digit.")
    return shown


def username_key(name: str) -> str:
    """The key under which a name is unique: two names that differ in case or form only are one."""
    folded = unicodedata.normalize("NFKC", name).strip().casefold()
    return unicodedata.normalize("NFKC", folded)


def check_password(password: str) -> None:
    """Raises `Unfit` for a password that is too short or absurdly long."""
    if len(password) < SHORTEST_PASSWORD:
        raise Unfit(f"A password needs at least {SHORTEST_PASSWORD} characters.")
    if len(password) > LONGEST_PASSWORD:
        raise Unfit(f"A password has at most {LONGEST_PASSWORD} characters.")


def hash_password(password: str) -> str:
    """An argon2id hash in its standard text form, parameters included."""
    return _HASHER.hash(_bytes(password))


def password_matches(kept: str, password: str) -> bool:
    """Whether the password is the one that was hashed; takes as long for a wrong one."""
    try:
        return _HASHER.verify(kept, _bytes(password))
    except (VerificationError, InvalidHashError):
        return False


def is_outdated(kept: str) -> bool:
    """Whether the hash was made with other parameters than today's and should be made anew at the next login."""
    return _HASHER.check_needs_rehash(kept)


def random_code(prefix: str = "") -> str:
    """A secret of 256 random bits in letters that need no quoting in a URL or header."""
    return prefix + secrets.token_urlsafe(32)


def digest(code: str) -> bytes:
    """What is kept of a random code: enough to know it again, useless to whoever copies the table."""
    return hashlib.sha256(code.encode()).digest()


def _bytes(password: str) -> bytes:
    # Keyboards of different makers spell the same letter differently; one form makes them one password.
    return unicodedata.normalize("NFKC", password).encode()
