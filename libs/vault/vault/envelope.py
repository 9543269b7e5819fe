"""The bytes of a sealed value: who wrapped its data key, that key wrapped, and the value under it.

    version u8 · length u8, key id · length u16, wrapped key · nonce 12 bytes · value and its tag of 16

The header is no associated data, so that rotation exchanges it without opening the value; a wrapped key is
authenticated by whoever wrapped it.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from struct import error as StructError
from typing import Self

from vault.errors import NotOpened

VERSION = 1
NONCE, TAG = 12, 16  # bytes
_LENGTH = Struct(">H")


@dataclass(frozen=True, slots=True)
class Envelope:
    key_id: str
    wrapped: bytes
    nonce: bytes
    value: bytes
    """Encrypted, with its tag."""

    def pack(self) -> bytes:
        """Raises ValueError for a key id beyond 255 bytes or a wrapped key beyond 65,535."""
        name = self.key_id.encode()
        if len(name) > 0xFF or len(self.wrapped) > 0xFFFF:
            raise ValueError("a key id or a wrapped key is too long for the header")
        return b"".join(
            (bytes((VERSION, len(name))), name, _LENGTH.pack(len(self.wrapped)), self.wrapped, self.nonce, self.value)
        )

    @classmethod
    def unpack(cls, sealed: bytes) -> Self:
        """Raises `NotOpened` for what is not a sealed value."""
        if len(sealed) < 2:
            raise NotOpened("damaged: this is not a sealed value")
        version, length = sealed[0], sealed[1]
        if version != VERSION:
            raise NotOpened(f"sealed in a form that this version does not know ({version})")
        try:
            name, rest = sealed[2 : 2 + length].decode(), sealed[2 + length :]
            (size,) = _LENGTH.unpack_from(rest)
        except (UnicodeDecodeError, StructError) as wrong:
            raise NotOpened("damaged: this is not a sealed value") from wrong
        wrapped, rest = rest[2 : 2 + size], rest[2 + size :]
        if len(rest) < NONCE + TAG:
            raise NotOpened("damaged: the sealed value is cut short")
        return cls(name, wrapped, rest[:NONCE], rest[NONCE:])
