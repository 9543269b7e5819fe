"""The fast path: any provider with the OpenAI chat-completions wire, streamed through a thin reader of our own.

No SDK: a chunk costs about 10 µs of CPU here, and several hundred through the general library.
"""

import asyncio
import io
from collections.abc import AsyncIterator

import aiohttp
import orjson

from llm.call import Call, Model
from llm.chat_chunks import ChunkReader
from llm.chat_request import encode
from llm.connections import Connections, proxy_for
from llm.endpoint import Endpoint
from llm.errors import AnswerTooLarge, BreakReason, NotConfigured, StreamBroken
from llm.events import Event
from llm.listing import FirstModel
from llm.refusals import not_a_stream, refusal, refusal_in_stream
from llm.requests import Request
from llm.sse import EventTooLarge, Splitter

EVENT_LIMIT = 8 * 1024 * 1024  # bytes of one event, or of an answer that came in one piece
REFUSAL_LIMIT = 64 * 1024  # bytes read of an error page
STREAMS = ("text/event-stream", "text/plain", "application/octet-stream")  # the last is what no header at all means


class ChatModel(Model):
    """A model behind a chat-completions endpoint; `name` may be left to what the endpoint has."""

    def __init__(self, model_id: str, name: str | FirstModel, endpoint: Endpoint, connections: Connections) -> None:
        self.id = model_id
        self._name = name
        self._endpoint = endpoint
        self._connections = connections

    def call(self, request: Request) -> "ChatCall":
        return ChatCall(self.id, self._name, request, self._endpoint, self._connections)


class ChatCall(Call):
    """One POST and the stream that answers it."""

    def __init__(
        self, model_id: str, name: str | FirstModel, request: Request, endpoint: Endpoint, connections: Connections
    ) -> None:
        super().__init__()
        self._model = model_id
        self._name = name
        self._request = request
        self._endpoint = endpoint
        self._connections = connections
        self._reader = ChunkReader(model_id)
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
            splitter, reader, content = Splitter(EVENT_LIMIT), self._reader, response.content
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
        url = self._endpoint.url("chat/completions")
        name = self._name if isinstance(self._name, str) else await self._name.name()
        body = encode(self._request, name, limit_field=self._endpoint.limit_field)
        try:
            async with asyncio.timeout(patience.connect + patience.first_byte) as self._opening:
                self._response = await self._connections.session().post(
                    url,
                    # Bytes beyond 1 MiB would be written in one go, holding up every other turn.
                    data=body if len(body) < 1 << 20 else io.BytesIO(body),
                    headers={"Content-Type": "application/json", **self._endpoint.headers()},
                    proxy=proxy_for(url),
                    allow_redirects=False,
                )
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            text = f"{self._model}: no connection to the provider"
            raise StreamBroken(text, reason="unreachable", detail=f"{url}: {error!r}") from error
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            text = f"{self._model}: the provider's base URL is not an http address"
            raise NotConfigured(text, detail=url) from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._broken(error) from error
        finally:
            self._opening = None
        if self._closed:
            # Closed by another task just as the answer began.
            raise self._broken(ConnectionAbortedError("closed by the caller"))
        if self._response.status // 100 != 2:
            body = await self._read_up_to(REFUSAL_LIMIT, self._response)
            raise refusal(self._model, self._response.status, self._response.headers, body, key=self._endpoint.key)
        return self._response

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
