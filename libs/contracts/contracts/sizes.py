"""How large a message on the bus may be. What comes near the broker's limit is refused where it is made."""

from __future__ import annotations

from typing import Final

from contracts.subjects import MAX_PAYLOAD

MESSAGE_LIMIT: Final = MAX_PAYLOAD - 64 * 1024
"""Bytes of a message's payload; what is left below the broker's limit is for headers."""


class MessageTooLarge(ValueError):
    """A message that the broker would not take. It is refused before anything is written or sent."""

    def __init__(self, subject: str, size: int) -> None:
        super().__init__(f"a message of {size:,} bytes for {subject}; the limit is {MESSAGE_LIMIT:,} bytes")
        self.subject = subject
        self.size = size
        self.limit = MESSAGE_LIMIT


def refuse_large(subject: str, payload: bytes) -> None:
    """Raises `MessageTooLarge`."""
    if len(payload) > MESSAGE_LIMIT:
        raise MessageTooLarge(subject, len(payload))
