"""A TCP proxy on loopback between the viewers and the deployment, whose connections can be cut."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

_PIECE = 64 * 1024
_RESET = struct.pack("ii", 1, 0)


class Proxy:
    """Forwards to `host:port`; `cut` resets connections on both sides, in the middle of whatever they carry."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open: dict[asyncio.StreamWriter, asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def opened(cls, host: str, port: int) -> AsyncGenerator[Proxy]:
        proxy = cls(host, port)
        proxy._server = await asyncio.start_server(proxy._accept, "127.0.0.1", 0)
        try:
            yield proxy
        finally:
            proxy._server.close()
            proxy.cut(1.0, random.Random(0))  # noqa: S311 - all of them
            await asyncio.gather(*proxy._serving, return_exceptions=True)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self, share: float, chance: random.Random) -> int:
        """Reset this share of the open connections; how many that were."""
        chosen = [pair for pair in self._open.items() if chance.random() < share]
        for pair in chosen:
            for side in pair:
                _reset(side)
        return len(chosen)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            _reset(writer)
            return
        self._open[writer] = far_writer
        try:
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        finally:
            del self._open[writer]
            for side in (writer, far_writer):
                side.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the sender ends or breaks; what breaks on one side breaks on the other."""
    try:
        while data := await reader.read(_PIECE):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        _reset(writer)


def _reset(writer: asyncio.StreamWriter) -> None:
    connection: socket.socket | None = writer.get_extra_info("socket")
    if connection is not None and not writer.is_closing():
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
