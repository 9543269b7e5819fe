"""Identifiers: UUIDv7, so that keys sort by the time they were made and indexes stay dense."""

from __future__ import annotations

import os
import time
from uuid import UUID


def uuid7() -> UUID:
    """A new UUID version 7 (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    random_bits = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80
    value |= 0x7 << 76
    value |= (random_bits >> 62 & 0xFFF) << 64
    value |= 0b10 << 62
    value |= random_bits & 0x3FFF_FFFF_FFFF_FFFF
    return UUID(int=value)
