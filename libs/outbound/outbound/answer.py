"""An answer: its head at once, its body as it comes, unpacked and bounded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Literal

import aiohttp

from outbound.bodies import Unpacker
from outbound.errors import Failed

Excess = Literal["refuse", "cut"]
"""What becomes of a body beyond the limit."""

_PIECE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer that has been read. `url` is where it came from in the end; `media_type` is lower-case and bare."""

    status: int
    url: str
    headers: Mapping[str, str]
    media_type: str
    charset: str | None
    body: bytes
    redirects: int
    is_cut: bool
    """There was more than the limit allows."""


class Answer:
    """An answer whose body is still to be read."""

    def __init__(self, response: aiohttp.ClientResponse, url: str, redirects: int, most: int) -> None:
        self.status = response.status
        self.url = url
        self.redirects = redirects
        self.headers: Mapping[str, str] = response.headers
        self.media_type, self.charset = _type_of(response.headers.get("Content-Type", ""))
        self.is_cut = False
        self._response = response
        self._most = most

    async def chunks(self, excess: Excess = "refuse") -> AsyncIterator[bytes]:
        """The body, unpacked. Raises `Failed` with `too_large` beyond the limit, unless it is to be cut there."""
        unpacker = Unpacker(self.headers.get("Content-Encoding", ""), self._most)
        if excess == "refuse" and (self._response.content_length or 0) > self._most:
            raise self._too_large()
        read = 0
        async for packed in self._response.content.iter_chunked(_PIECE):
            read += len(packed)
            if piece := unpacker.feed(packed):
                yield piece
            if unpacker.is_full or read > self._most:
                if excess == "refuse":
                    raise self._too_large()
                self.is_cut = True
                return
        unpacker.end()

    async def read(self, excess: Excess = "refuse") -> Fetched:
        """The whole of it."""
        body = b"".join([piece async for piece in self.chunks(excess)])
        return Fetched(
            status=self.status,
            url=self.url,
            headers=self.headers,
            media_type=self.media_type,
            charset=self.charset,
            body=body,
            redirects=self.redirects,
            is_cut=self.is_cut,
        )

    def _too_large(self) -> Failed:
        return Failed("too_large", f"The answer is larger than the {self._most:,} bytes that are read.")


def _type_of(header: str) -> tuple[str, str | None]:
    """`text/html; charset="UTF-8"` as `text/html` and `utf-8`."""
    media_type, *parameters = header.split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and (charset := value.strip().strip("\"'").lower()):
            return media_type.strip().lower(), charset[:40]
    return media_type.strip().lower(), None
