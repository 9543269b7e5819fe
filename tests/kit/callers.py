"""Short API requests one after the other, spoken by hand, so that nothing is tried again behind a test's back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_PATIENCE = 30.0
_PAUSE = 0.05


class Broken(Exception):
    """The connection ended before the answer did."""


@dataclass
class Caller:
    """Asks until told to stop; `keeps` its connection as long as the server does, or opens one for each request."""

    url: str
    token: str
    keeps: bool
    answers: int = 0
    closings: int = 0
    """How often an answer said `connection: close`."""
    broken_fresh: list[str] = field(default_factory=list[str])
    """What went wrong on a connection that was made for the request: nothing may."""
    broken_reused: list[str] = field(default_factory=list[str])
    """On one that was used before: it may be gone before the first byte of an answer, as with any server."""
    _reader: asyncio.StreamReader | None = None
    _writer: asyncio.StreamWriter | None = None

    async def ask_until(self, done: asyncio.Event) -> None:
        requests = (("GET", "/api/threads", b""), ("POST", "/api/threads", b"{}"), ("GET", "/api/me", b""))
        while not done.is_set():
            for request in requests:
                await self.ask(*request)
                await asyncio.sleep(_PAUSE)

    async def ask(self, method: str, path: str, body: bytes = b"") -> int:
        """The status of the answer. A connection that was used before may break once; then a fresh one is asked."""
        is_fresh = self._writer is None
        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._once(method, path, body)
        except (OSError, Broken, TimeoutError) as wrong:
            self.close()
            said = f"{method} {path}: {type(wrong).__name__} {wrong}"
            (self.broken_fresh if is_fresh else self.broken_reused).append(said)
            return 0 if is_fresh else await self.ask(method, path, body)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _once(self, method: str, path: str, body: bytes) -> int:
        place = urlsplit(self.url)
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(place.hostname, place.port)
        assert self._reader is not None
        head = f"{method} {path} HTTP/1.1\r\nhost: {place.netloc}\r\nauthorization: Bearer {self.token}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        status, headers = await self._head(self._reader)
        await _whole(self._reader.readexactly(int(headers[b"content-length"])), "in the body")
        self.answers += 1
        closes = headers.get(b"connection") == b"close"
        self.closings += closes
        if closes or not self.keeps:
            self.close()
        if status >= 500:
            raise Broken(f"answered {status}")
        return status

    async def _head(self, reader: asyncio.StreamReader) -> tuple[int, dict[bytes, bytes]]:
        head = await _whole(reader.readuntil(b"\r\n\r\n"), "in the head")
        first, *lines = head.lower().split(b"\r\n")[:-2]
        pairs = (line.partition(b":") for line in lines)
        return int(first.split()[1]), {name: value.strip() for name, _, value in pairs}


async def _whole(reading: Awaitable[bytes], where: str) -> bytes:
    try:
        return await reading
    except asyncio.IncompleteReadError as cut:
        raise Broken(f"ended {where} after {len(cut.partial)} bytes") from None
