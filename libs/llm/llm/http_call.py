"""One POST and the stream that answers it: what all wires over HTTP share, and where every token passes.

No SDK: a chunk costs about 10 µs of CPU here, and several hundred through the general libraries.
"""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
import orjson

from llm.call import Call
from llm.connections import Connections, proxy_for
from llm.errors import Adapted, AnswerTooLarge, BreakReason, ModelError, NotConfigured, StreamBroken
from llm.events import Event, Usage
from llm.refusals import not_a_stream, refusal, refusal_in_stream
from llm.sse import EventTooLarge, Splitter

EVENT_LIMIT = 8 * 1024 * 1024  # bytes of one event, or of an answer that came in one piece
REFUSAL_LIMIT = 64 * 1024  # bytes read of an error page
# The last is what no header at all means.
STREAMS = ("text/event-stream", "application/x-ndjson", "text/plain", "application/octet-stream")


class Reader(Protocol):
    """Turns the data of one stream's events into our events, in order.

    usage:    what was reported last.
    begun:    whether anything of this wire has been read.
    started:  whether anything of the answer has been yielded.
    done:     nothing more will come.
    finished: the provider has ended the answer; all that may still come is usage.
    """

    begun: bool
    started: bool
    done: bool

    @property
    def usage(self) -> Usage | None: ...

    @property
    def finished(self) -> bool: ...

    def read(self, datas: list[bytes]) -> list[Event]:
        """Parse what one network read completed. Raises `StreamBroken` or what the provider's own error means."""
        ...

    def end(self) -> list[Event]:
        """The last events, once the stream is over. Raises `StreamBroken` if it ended without having finished."""
        ...

    def whole(self, answer: dict[str, Any]) -> list[Event]:
        """The events of an answer that came in one piece from a provider that does not stream."""
        ...


class LineReader(Protocol):
    """Cuts reads into the data of events."""

    def feed(self, read: bytes) -> list[bytes]: ...
    def end(self) -> list[bytes]: ...


@dataclass(slots=True, frozen=True)
class Post:
    """What is sent."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class HttpCall(Call):
    """A model call over HTTP.

    prepare: makes what is sent; it may have to ask the provider first which models there are.
    refused: told of a refusal (status, detail); the name of what the next try will leave out, or None.
    """

    def __init__(
        self,
        model_id: str,
        prepare: Callable[[], Awaitable[Post]],
        reader: Reader,
        connections: Connections,
        *,
        key: str = "",
        splitter: Callable[[int], LineReader] = Splitter,
        refused: Callable[[int, str], str | None] | None = None,
    ) -> None:
        super().__init__()
        self._model = model_id
        self._prepare = prepare
        self._reader = reader
        self._connections = connections
        self._key = key
        self._splitter = splitter
        self._refused = refused
        self._response: aiohttp.ClientResponse | None = None
        self._opening: asyncio.Timeout | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None
        self._begun = False
        self._silent = False
        self._closed = False

    async def stream(self) -> AsyncIterator[list[Event]]:
        try:
            response = await self._open()
            self._keep_watch()
            kind = response.content_type
            if kind == "application/json":
                yield await self._in_one_piece(response)
                return
            if kind not in STREAMS:
                raise not_a_stream(self._model, kind, await self._read_up_to(REFUSAL_LIMIT, response))
            splitter, reader, content = self._splitter(EVENT_LIMIT), self._reader, response.content
            clock, head = asyncio.get_running_loop().time, b""
            try:
                # The hot loop: one list per network read, and no generator inside this one.
                while not reader.done:
                    self._waiting_since = clock()
                    data = await content.readany()
                    self._waiting_since = None
                    if not data:
                        break
                    self._begun = True
                    head = head or data
                    if events := reader.read(splitter.feed(data)):
                        yield events
                if events := reader.read(splitter.end()):
                    yield events
            except EventTooLarge as error:
                if not reader.finished:
                    raise self._too_large() from error
            except (aiohttp.ClientError, OSError) as error:
                # Once it has finished, only usage can be missing: the answer itself is whole.
                if not reader.finished:
                    raise self._broken(error) from error
            if not reader.begun and head.lstrip().startswith((b"<", b"{")):
                raise not_a_stream(self._model, kind, head)
            yield reader.end()
        finally:
            self.usage = self._reader.usage
            await self.aclose()

    async def aclose(self) -> None:
        self._closed = True
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        # Drops the connection at once, unless the answer was read to its end: then it is back in the pool already.
        if self._response is not None:
            self._response.close()
        elif self._opening is not None:
            self._opening.reschedule(asyncio.get_running_loop().time())

    async def _open(self) -> aiohttp.ClientResponse:
        patience = self._connections.patience
        post = await self._prepare()
        body = post.body
        try:
            async with asyncio.timeout(patience.connect + patience.first_byte) as self._opening:
                self._response = await self._connections.session().post(
                    post.url,
                    # Bytes beyond 1 MiB would be written in one go, holding up every other turn.
                    data=body if len(body) < 1 << 20 else io.BytesIO(body),
                    headers={"Content-Type": "application/json", **post.headers},
                    proxy=proxy_for(post.url),
                    allow_redirects=False,
                )
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            text = f"{self._model}: no connection to the provider"
            raise StreamBroken(text, reason="unreachable", detail=f"{post.url}: {error!r}") from error
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            text = f"{self._model}: the provider's base URL is not an http address"
            raise NotConfigured(text, detail=post.url) from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._broken(error) from error
        finally:
            self._opening = None
        if self._closed:
            # Closed by another task just as the answer began.
            raise self._broken(ConnectionAbortedError("closed by the caller"))
        if self._response.status // 100 != 2:
            raise self._said_no(self._response, await self._read_up_to(REFUSAL_LIMIT, self._response))
        return self._response

    def _said_no(self, response: aiohttp.ClientResponse, body: bytes) -> ModelError:
        error = refusal(self._model, response.status, response.headers, body, key=self._key)
        part = self._refused(response.status, error.detail) if self._refused else None
        if part is None:
            return error
        text = f"{self._model}: the provider does not take “{part}”, which will be left out"
        return Adapted(text, detail=error.detail, status=response.status, retry_after=0.0)

    async def _in_one_piece(self, response: aiohttp.ClientResponse) -> list[Event]:
        body = await self._read_up_to(EVENT_LIMIT + 1, response)
        if len(body) > EVENT_LIMIT:
            raise self._too_large()
        try:
            answer = orjson.loads(body)
            if answer.get("error"):
                raise refusal_in_stream(self._model, answer["error"], started=False)
            return self._reader.whole(answer)
        except (ValueError, AttributeError, LookupError, TypeError) as error:
            raise not_a_stream(self._model, response.content_type, body) from error

    async def _read_up_to(self, limit: int, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        try:
            async with asyncio.timeout(self._connections.patience.silence):
                while len(body) < limit and (data := await response.content.readany()):
                    body += data
        except (aiohttp.ClientError, OSError) as error:
            # An error page that does not end still says what it says; an answer that does not end says nothing.
            if response.status // 100 == 2:
                raise self._broken(error) from error
        return bytes(body[:limit])

    def _keep_watch(self) -> None:
        """Close the connection if we have waited for too long; waiting for our own consumer does not count."""
        patience = self._connections.patience
        loop = asyncio.get_running_loop()
        now = loop.time()
        limit = patience.tail if self._reader.finished else patience.silence if self._begun else patience.first_byte
        due = now + limit if self._waiting_since is None else self._waiting_since + limit
        if now >= due and self._response is not None:
            self._silent = True
            self._response.close()
        else:
            # No later than the tail, since the limit may shrink to it at any read. A timer per read would cost more.
            self._watch = loop.call_at(min(due, now + patience.tail), self._keep_watch)

    def _too_large(self) -> AnswerTooLarge:
        text = f"{self._model}: the provider sent a piece of more than {EVENT_LIMIT:,} bytes, which is refused"
        return AnswerTooLarge(text, started=self._reader.started)

    def _broken(self, error: Exception) -> StreamBroken:
        reason: BreakReason
        if self._silent or isinstance(error, TimeoutError):
            reason, said = "silence", "the provider has gone silent"
        else:
            reason, said = "lost", "the connection to the provider was lost"
        return StreamBroken(f"{self._model}: {said}", reason=reason, detail=repr(error), started=self._reader.started)
