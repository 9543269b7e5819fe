"""A client of the native routes that does not lose anything: it reconnects by itself and ends with the message.

async with TurnClient(url, token) as client:
    watch = await client.send(thread_id, "Hello")
    await watch.to_end()
    watch.message.shown                                  # the UIMessage
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import aiohttp

from cli.bench.batches import BatchReader, Chunk, Message
from contracts.batches import START

TURN_HEADER = "x-retinue-turn"
_AWAY = frozenset({408, 425, 429, 500, 502, 503, 504})
_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


class TurnRefused(Exception):
    """The server said no: status and body."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status} {body[:500]}")
        self.status = status
        self.body = body


class TurnClient:
    """One user's connections to one deployment. `patience` seconds without any answer are too many."""

    def __init__(self, url: str, token: str, *, patience: float = 60.0, connections: int = 0) -> None:
        self.url = url.rstrip("/")
        self.patience = patience
        self._headers = {"authorization": f"Bearer {token}"}
        self._connections = connections
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=self._connections)
        # Heartbeats come every 15 s: a connection that is silent for longer is broken.
        timeout = aiohttp.ClientTimeout(total=None, connect=10, sock_read=40)
        self._http = aiohttp.ClientSession(connector=connector, timeout=timeout, headers=self._headers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.close()

    @property
    def http(self) -> aiohttp.ClientSession:
        assert self._http is not None, "use it in `async with`"
        return self._http

    async def thread(self) -> str:
        """A new thread's id."""
        async with self.http.post(f"{self.url}/api/threads", json={}) as answer:
            return (await _json(answer))["id"]

    async def messages(self, thread_id: str) -> list[dict[str, Any]]:
        """The newest page of a thread."""
        async with self.http.get(f"{self.url}/api/threads/{thread_id}/messages") as answer:
            return (await _json(answer))["items"]

    async def stop(self, thread_id: str, turn_id: str | None = None) -> dict[str, Any]:
        params = {"turn": turn_id} if turn_id else {}
        async with self.http.delete(f"{self.url}/api/threads/{thread_id}/turn", params=params) as answer:
            return await _json(answer)

    async def send(self, thread_id: str, text: str, *, key: str | None = None, **body: Any) -> Watch:
        """Post a message; the answer's stream is open when this returns. A lost answer is asked for again by `key`."""
        watch = Watch(
            self, thread_id, None, post={"message": text, **body}, key=key or f"send-{random.getrandbits(96):x}"
        )
        await watch.connect()
        return watch

    def watch(self, thread_id: str, turn_id: str | None = None) -> Watch:
        """Follow the thread's running turn, or the named one."""
        return Watch(self, thread_id, turn_id)


class Watch:
    """One turn, watched to its end over as many connections as it takes."""

    def __init__(
        self,
        client: TurnClient,
        thread_id: str,
        turn_id: str | None,
        *,
        post: dict[str, Any] | None = None,
        key: str = "",
    ) -> None:
        self.turn_id = turn_id
        self.thread_id = thread_id
        self.message = Message()
        self.connections = 0
        self.restarts = 0
        """How often the log could not continue and the message was begun anew."""
        self.raw = bytearray()
        """Every byte of the current connection, if `keeps_raw`."""
        self.keeps_raw = False
        self.on_chunk: Callable[[Chunk], None] | None = None
        self.statuses: list[Chunk] = []
        """What was said of a turn that waits."""
        self._client = client
        self._post = post
        self._key = key
        self._response: aiohttp.ClientResponse | None = None
        self._is_over = False

    async def connect(self) -> None:
        """Open a connection, trying again while the server is away. Raises `TurnRefused`, or TimeoutError."""
        pause = _PAUSE
        async with asyncio.timeout(self._client.patience):
            while self._response is None and not self._is_over:
                try:
                    await self._open()
                except (aiohttp.ClientError, OSError, TimeoutError):
                    await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311
                    pause = min(pause * 2, _LONGEST_PAUSE)

    async def to_end(self, seconds: float = 120.0) -> Message:
        """The message when the turn is over. Raises TimeoutError after so many seconds."""
        async with asyncio.timeout(seconds):
            while not (self.message.is_ended or self._is_over):
                await self.connect()
                async with self._reading() as response:
                    if response is not None:
                        await self._read(response)
        self.close()
        return self.message

    async def until(self, enough: Callable[[Message], bool], seconds: float = 30.0) -> Message:
        """Read on until `enough` says so after a batch, and keep the connection."""
        async with asyncio.timeout(seconds):
            while not (self.message.is_ended or self._is_over or enough(self.message)):
                await self.connect()
                async with self._reading() as response:
                    if response is not None:
                        await self._read(response, enough)
        return self.message

    def close(self) -> None:
        """Drop the connection, as a closed window does."""
        if self._response is not None:
            self._response.close()
            self._response = None

    async def _open(self) -> None:
        if self._post is not None and self.turn_id is None:
            answer = await self._client.http.post(self._url, json=self._post, headers={"idempotency-key": self._key})
        else:
            params = {"turn": self.turn_id} if self.turn_id else {}
            if self.message.position != START:
                params["after"] = str(self.message.position)
            answer = await self._client.http.get(self._url, params=params)
        await self._take(answer)

    async def _take(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status == 200:
            self.turn_id = answer.headers.get(TURN_HEADER, self.turn_id)
            self.connections += 1
            self._response = answer
            self._reader = BatchReader()
            self.raw.clear()
            return
        body = await answer.text()
        if answer.status == 204:
            self._is_over = True
        elif answer.status == 410:
            self.restarts += 1
            self.message = Message()
        elif answer.status in _AWAY:
            raise aiohttp.ClientConnectionError(f"{answer.status} {body[:200]}")
        else:
            raise TurnRefused(answer.status, body)

    @asynccontextmanager
    async def _reading(self) -> AsyncGenerator[aiohttp.ClientResponse | None]:
        """A connection that breaks ends the block without a word: the next one continues."""
        try:
            yield self._response
        except (aiohttp.ClientError, OSError):
            self.close()

    async def _read(self, response: aiohttp.ClientResponse, enough: Callable[[Message], bool] | None = None) -> None:
        async for data in response.content.iter_any():
            if self.keeps_raw:
                self.raw += data
            for batch in self._reader.feed(data):
                self.message.apply(batch, self.on_chunk)
            self.statuses = self._reader.loose
            if self.message.is_ended or (enough is not None and enough(self.message)):
                return
        self.close()  # it ended, and its end batch did not come

    @property
    def _url(self) -> str:
        return f"{self._client.url}/api/threads/{self.thread_id}/turn"


async def _json(answer: aiohttp.ClientResponse) -> Any:
    if not answer.ok:
        raise TurnRefused(answer.status, await answer.text())
    return await answer.json()
