"""What litellm sends goes out over our own connections: their patience, proxies and limits, and no retry but ours.

It also sees the provider's own words before litellm rewrites them, so that an error is what it is on the other wires.
Imported with litellm only (`litellm_library`).
"""

import asyncio
import io
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx
import orjson

from llm.connections import Connections, proxy_for
from llm.errors import AnswerTooLarge, BreakReason, ModelError, StreamBroken
from llm.http_call import EVENT_LIMIT, REFUSAL_LIMIT
from llm.refusals import not_a_stream, refusal
from llm.sse import EventTooLarge, Splitter

STREAM = "text/event-stream"
OUR_OWN = frozenset({"host", "content-length", "connection", "accept-encoding", "transfer-encoding", "user-agent"})


class Exchange(httpx.AsyncBaseTransport):
    """The transport of one call, and what was seen of its answer before litellm rewrote it.

    error:     what went wrong with the provider, if anything did.
    answered:  a stream has begun; `ended`: it came to its end.
    finished:  the provider has named a finish reason: litellm makes one up where there is none.
    is_whole:  nothing more will come.
    grounding: what Gemini says of its searches: litellm loses it where it comes without text.
    """

    def __init__(self, model_id: str, key: str, connections: Connections) -> None:
        self.error: ModelError | None = None
        self.answered = False
        self.ended = False
        self.finished = False
        self.is_whole = False
        self.grounding: list[dict[str, Any]] = []
        self._model = model_id
        self._key = key
        self._connections = connections
        self._response: aiohttp.ClientResponse | None = None
        self._opening: asyncio.Timeout | None = None
        self._dropped = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.error = None
        response = await self._open(request)
        if response.status // 100 != 2:
            body = await self._read_up_to(REFUSAL_LIMIT, response)
            self.error = refusal(self._model, response.status, response.headers, body, key=self._key)
            response.close()
            return httpx.Response(response.status, content=body, request=request)
        if response.content_type != STREAM:
            body = await self._read_up_to(REFUSAL_LIMIT, response)
            response.close()
            raise self._gone(not_a_stream(self._model, response.content_type, body))
        self.answered = True
        headers = {"content-type": STREAM}
        return httpx.Response(response.status, headers=headers, stream=_Body(self, response), request=request)

    def drop(self) -> None:
        """Let go of the connection at once."""
        self._dropped = True
        if self._response is not None:
            self._response.close()
        elif self._opening is not None:
            self._opening.reschedule(asyncio.get_running_loop().time())

    async def read(self, response: aiohttp.ClientResponse, patience: float) -> bytes:
        """The next bytes, none at the end. Notes what broke and raises what litellm takes for a lost connection."""
        try:
            async with asyncio.timeout(patience):
                return await response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise self._gone(self._broken(error)) from error

    def too_large(self) -> httpx.ReadError:
        text = f"{self._model}: the provider sent a piece of more than {EVENT_LIMIT:,} bytes, which is refused"
        return self._gone(AnswerTooLarge(text))

    def see(self, event: bytes) -> None:
        """Look at one event. Quotes within its texts are escaped: what is looked for are names of fields."""
        if b'"finishReason"' in event or b'"blockReason"' in event or b'"message_delta"' in event:
            self.finished = True
        if b'"message_stop"' in event:
            self.is_whole = True
        if b'"groundingMetadata"' in event:
            try:
                candidates = orjson.loads(event).get("candidates") or ()
            except (ValueError, AttributeError):
                # litellm, which reads it too, will say what is wrong with it.
                return
            self.grounding += [found for one in candidates if (found := one.get("groundingMetadata"))]

    @property
    def patience(self) -> tuple[float, float, float]:
        """Seconds to wait for the first bytes, for the next, and for the end once the answer is whole."""
        patience = self._connections.patience
        return patience.first_byte, patience.silence, patience.tail

    async def _open(self, request: httpx.Request) -> aiohttp.ClientResponse:
        patience = self._connections.patience
        url, body = str(request.url), await request.aread()
        headers = {name: value for name, value in request.headers.items() if name.lower() not in OUR_OWN}
        try:
            async with asyncio.timeout(patience.connect + patience.first_byte) as self._opening:
                self._response = await self._connections.session().request(
                    request.method,
                    url,
                    # Bytes beyond 1 MiB would be written in one go, holding up every other turn.
                    data=body if len(body) < 1 << 20 else io.BytesIO(body),
                    headers=headers,
                    proxy=proxy_for(url),
                    allow_redirects=False,
                )
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            text = f"{self._model}: no connection to the provider"
            broken = StreamBroken(text, reason="unreachable", detail=f"{url}: {error!r}")
            raise self._gone(broken) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._gone(self._broken(error)) from error
        finally:
            self._opening = None
        if self._dropped:
            # Closed by another task just as the answer began.
            self._response.close()
            raise self._gone(self._broken(ConnectionAbortedError("closed by the caller")))
        return self._response

    async def _read_up_to(self, limit: int, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        try:
            while len(body) < limit and (data := await self.read(response, self._connections.patience.silence)):
                body += data
        except httpx.ReadError:
            # A page that does not end still says what it says.
            self.error = None
        return bytes(body[:limit])

    def _broken(self, error: Exception) -> StreamBroken:
        reason: BreakReason
        if isinstance(error, TimeoutError):
            reason, said = "silence", "the provider has gone silent"
        else:
            reason, said = "lost", "the connection to the provider was lost"
        return StreamBroken(f"{self._model}: {said}", reason=reason, detail=repr(error))

    def _gone(self, error: ModelError) -> httpx.ReadError:
        """Note the error; the one to raise is never one upon which litellm would try again."""
        self.error = error
        return httpx.ReadError(error.text)


class _Body(httpx.AsyncByteStream):
    """The events of the answer, each as plain as can be: litellm stumbles over comments between Gemini's."""

    def __init__(self, exchange: Exchange, response: aiohttp.ClientResponse) -> None:
        self._exchange = exchange
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        exchange, response = self._exchange, self._response
        first, silence, tail = exchange.patience
        wait, splitter = first, Splitter(EVENT_LIMIT)
        while True:
            try:
                data = await exchange.read(response, wait)
            except httpx.ReadError:
                if not exchange.is_whole:
                    raise
                exchange.error = None
                data = b""
            try:
                events = splitter.feed(data) if data else splitter.end()
            except EventTooLarge as error:
                raise exchange.too_large() from error
            for event in events:
                exchange.see(event)
            if events:
                yield b"".join(b"data: %b\n\n" % event.replace(b"\n", b"\ndata: ") for event in events)
            if not data:
                exchange.ended = True
                return
            wait = tail if exchange.is_whole else silence

    async def aclose(self) -> None:
        # Back to the pool if it was read to its end, dropped if not.
        self._response.close()
