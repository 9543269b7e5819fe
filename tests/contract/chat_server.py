"""The least server that an AI SDK client can talk to: one chat, whose chunks a test lets go one batch at a time."""

import asyncio
import json
from types import TracebackType

from contracts.batches import BatchId
from contracts.chunks import KEEP_ALIVE, STREAM_HEADERS, Chunk
from contracts.frames import DONE, event


class ChatServer:
    """Replays from the first chunk to whoever looks, then follows; with nothing running it says 204.

    `requests` holds (method, path, authorization, body) of everything that came.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str | None, bytes]] = []
        self.refusal: tuple[int, str] | None = None
        self.closing: list[Chunk] = []  # what a stop sends before the end
        self._events: list[bytes] = []
        self._ended = False
        self._running = False
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> "ChatServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.base = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def say(self, *chunks: Chunk, end: bool = False) -> None:
        self._events.append(KEEP_ALIVE)
        for number, chunk in enumerate(chunks):
            self._events.append(event(json.dumps(chunk, ensure_ascii=False).encode(), BatchId(1, number)))
        if end:
            self._events.append(event(DONE))
        self._ended = end
        async with self._changed:
            self._changed.notify_all()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests.append((method, path, headers.get("authorization"), body))
        try:
            await self._answer(method, path, writer)
            writer.close()
            await writer.wait_closed()
        except ConnectionError:
            pass  # the page went away, which is not this server's business

    async def _answer(self, method: str, path: str, writer: asyncio.StreamWriter) -> None:
        if self.refusal is not None:
            status, text = self.refusal
            writer.write(f"HTTP/1.1 {status} No\r\nconnection: close\r\n\r\n{text}".encode())
        elif path.endswith("/stop"):
            await self.say(*self.closing, end=True)
            writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        elif method == "GET" and (self._ended or not self._running):
            writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        else:
            self._running = True
            await self._stream(writer)

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        lines = [
            "HTTP/1.1 200 OK",
            "connection: close",
            *(f"{name}: {value}" for name, value in STREAM_HEADERS.items()),
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        sent = 0
        while True:
            writer.write(b"".join(self._events[sent:]))
            await writer.drain()
            sent = len(self._events)
            if self._ended:
                return
            async with self._changed:
                await self._changed.wait_for(lambda sent=sent: len(self._events) > sent)
