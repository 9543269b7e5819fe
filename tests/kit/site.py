"""A web server on loopback that says exactly the bytes it is told, and counts who comes.

    async with Site.opened() as site:
        site.pages["/"] = answer(200, "<p>Hello</p>", "text/html")
        ...
        assert site.connections == 1

Nobody who may not come is counted by what they ask: a connection alone counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address

from outbound import Failed
from outbound.ranges import Address


@dataclass(frozen=True)
class Asked:
    """A request as it came. Names of headers are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Says = bytes | Callable[[Asked], bytes] | Callable[[Asked], AsyncIterator[bytes]]


@dataclass
class Site:
    """`pages` by path without its query; what is not there is 404."""

    host: str = "127.0.0.1"
    port: int = 0
    connections: int = 0
    asked: list[Asked] = field(default_factory=list)
    pages: dict[str, Says] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @classmethod
    @asynccontextmanager
    async def opened(cls, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None):
        site = cls(host)
        server = await asyncio.start_server(site._serve, host, port, ssl=tls)
        site.port = server.sockets[0].getsockname()[1]
        try:
            yield site
        finally:
            server.close()
            for task in site._tasks:
                task.cancel()
            await asyncio.gather(*site._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            asked = await _read(reader)
            self.asked.append(asked)
            says = self.pages.get(asked.path.partition("?")[0], answer(404, "not here"))
            said = says if isinstance(says, bytes) else says(asked)
            if isinstance(said, bytes):
                writer.write(said)
            else:
                async for piece in said:
                    writer.write(piece)
                    await writer.drain()
            await writer.drain()
        writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    method, path, _ = first.split(" ", 2)
    return Asked(method, path, headers, body)


def answer(
    status: int,
    body: str | bytes = b"",
    media_type: str = "text/html; charset=utf-8",
    *,
    length: bool = True,
    **headers: str,
) -> bytes:
    """A whole answer; `content_encoding="gzip"` becomes the header."""
    content = body.encode() if isinstance(body, str) else body
    named = {"Content-Type": media_type, "Connection": "close"}
    if length:
        named["Content-Length"] = str(len(content))
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode() + content


def leads_to(url: str, status: int = 302) -> bytes:
    """A redirect."""
    return answer(status, "", Location=url)


class Book:
    """Addresses by name, as a resolver's interface wants them. Each look-up takes the next answer, the last stays."""

    def __init__(self, **names: str | Sequence[str | Sequence[str]]) -> None:
        self._answers = {
            name.replace("_", "."): [told] if isinstance(told, str) else list(told) for name, told in names.items()
        }
        self.look_ups: list[str] = []

    async def look_up(self, host: str, port: int) -> Sequence[Address]:
        self.look_ups.append(host)
        answers = self._answers.get(host)
        if answers is None:
            raise Failed("unknown_name", f"There is no server of the name {host}.")
        told = answers.pop(0) if len(answers) > 1 else answers[0]
        return [ip_address(each) for each in ([told] if isinstance(told, str) else told)]

    async def aclose(self) -> None:
        """Nothing is open."""
