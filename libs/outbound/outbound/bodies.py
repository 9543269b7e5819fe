"""A body as it arrives: unpacked and counted, so that a small answer cannot become a large one."""

from __future__ import annotations

import zlib

from outbound.errors import Failed

ACCEPTED = "gzip"
"""What we ask for and can unpack, beside a plain body."""

_MOST_MEMBERS = 64


class Unpacker:
    """Unpacks at most `most` bytes; `is_full` then, whatever else may come."""

    def __init__(self, encoding: str, most: int) -> None:
        self._room = most
        self.is_full = False
        self._members = 0
        encoding = encoding.strip().lower()
        self._stream = self._member() if encoding in ("gzip", "x-gzip") else None
        if encoding not in ("gzip", "x-gzip", "", "identity"):
            raise Failed("encoding", "The server packed its answer in a way that nobody asked for.", encoding[:100])

    def feed(self, data: bytes) -> bytes:
        """The bytes that come of these. Raises `Failed` for a body that is not what it says."""
        plain = data if self._stream is None else self._unpacked(data)
        if len(plain) > self._room:
            plain, self.is_full = plain[: self._room], True
        self._room -= len(plain)
        return plain

    def end(self) -> None:
        """The body is over. Raises `Failed` if there should be more of it."""
        if self._stream is not None and not self._stream.eof and not self.is_full:
            raise Failed("broken", "The answer broke off.")

    def _unpacked(self, data: bytes) -> bytes:
        pieces: list[bytes] = []
        room = self._room + 1  # one more than fits, to know whether there is more
        while data and room > 0:
            assert self._stream is not None
            if self._stream.eof:
                if not data.startswith(b"\x1f\x8b"):
                    break  # padding behind the last member
                self._stream = self._member()
            try:
                piece = self._stream.decompress(data, room)
            except zlib.error as wrong:
                raise Failed("encoding", "The server's answer cannot be unpacked.", str(wrong)) from wrong
            pieces.append(piece)
            room -= len(piece)
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
        return b"".join(pieces)

    def _member(self):
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise Failed("encoding", "The server's answer is packed in too many pieces.")
        return zlib.decompressobj(wbits=31)
