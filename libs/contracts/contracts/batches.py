"""The unit of the chunk log: a 16-byte header and finished SSE bytes.

The runner encodes a batch once; gateways read the header and copy the rest. An id is (epoch, number); the cut is
the id of the turn's last commit when the epoch began, and what an older epoch holds beyond it does not count.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

VERSION = 1
END = 0x01
"""Flag: the log ends with this batch. Gateways close on it, never on a chunk type."""

_HEADER = struct.Struct(">BBHIHHI")
HEADER_SIZE = _HEADER.size


class BatchId(NamedTuple):
    """Where a batch stands; ordered by number within an epoch, and across epochs only along the cuts."""

    epoch: int
    number: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.number}"

    @classmethod
    def parse(cls, text: str) -> BatchId:
        """Reads `<epoch>.<number>`; ValueError for anything else."""
        epoch, dot, number = text.partition(".")
        if not (dot and epoch.isascii() and epoch.isdigit() and number.isascii() and number.isdigit()):
            raise ValueError(f"not a position in a stream: {text[:40]!r}")
        found = cls(int(epoch), int(number))
        if found.epoch > 0xFFFF or found.number > 0xFFFF_FFFF:
            raise ValueError(f"not a position in a stream: {text[:40]!r}")
        return found


START = BatchId(0, 0)
"""Before the first batch; also the cut of a turn that has committed nothing."""


class Batch(NamedTuple):
    id: BatchId
    cut: BatchId
    flags: int
    body: bytes

    @property
    def is_end(self) -> bool:
        return bool(self.flags & END)


def pack(id: BatchId, cut: BatchId, body: bytes, flags: int = 0) -> bytes:
    return _HEADER.pack(VERSION, flags, id.epoch, id.number, cut.epoch, 0, cut.number) + body


def unpack(message: bytes) -> Batch:
    """Splits a message of the log; ValueError when it is no batch or of an unknown version."""
    if len(message) < HEADER_SIZE:
        raise ValueError("a batch is shorter than its header")
    version, flags, epoch, number, cut_epoch, _, cut_number = _HEADER.unpack_from(message)
    if version != VERSION:
        raise ValueError(f"unknown batch version {version}")
    return Batch(BatchId(epoch, number), BatchId(cut_epoch, cut_number), flags, message[HEADER_SIZE:])
