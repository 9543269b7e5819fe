"""Anthropic and Gemini, through litellm: their wires in its words, behind our own interface, connections and errors."""

from collections.abc import AsyncIterator
from importlib import import_module
from typing import Any

from llm.call import Call, Model, WireAbilities
from llm.catalogue_names import read
from llm.catalogue_table import FIRST_GEMINI_TO_SEARCH_BESIDE_TOOLS
from llm.connections import Connections
from llm.errors import ModelError, StreamBroken
from llm.events import Event
from llm.litellm_chunks import ChunkReader
from llm.litellm_library import library
from llm.litellm_request import arguments
from llm.provider import Provider
from llm.reasoning import origin
from llm.refusals import refusal, refusal_in_stream
from llm.requests import Request

LONGEST = 12 * 3600.0  # seconds; we have a patience of our own, litellm's would count the whole answer


class LitellmModel(Model):
    """A model of a provider whose kind is `anthropic` or `gemini`."""

    def __init__(self, model_id: str, name: str, provider: Provider, connections: Connections) -> None:
        self.id = model_id
        self.wire = "anthropic" if provider.kind == "anthropic" else "gemini"
        searches = self.wire == "anthropic" or read(name).version >= FIRST_GEMINI_TO_SEARCH_BESIDE_TOOLS
        self.abilities = WireAbilities(hosted_search=searches, effort=True)
        self._name = name
        self._provider = provider
        self._connections = connections

    def call(self, request: Request) -> "LitellmCall":
        return LitellmCall(self, self._name, self._provider, request, self._connections)


class LitellmCall(Call):
    """One call of `acompletion` and the stream that answers it."""

    def __init__(
        self, model: LitellmModel, name: str, provider: Provider, request: Request, connections: Connections
    ) -> None:
        super().__init__()
        self._model = model.id
        self._provider = provider
        self._connections = connections
        whose = origin(model.wire, model.id, provider.key)
        self._reader = ChunkReader(whose)
        self._asked = arguments(request, model.wire, name, whose)
        self._exchange: Any = None
        self._stream: Any = None
        self._closed = False

    async def stream(self) -> AsyncIterator[list[Event]]:
        litellm = await library()
        try:
            self._stream = await self._opened(litellm)
            while (chunk := await self._next()) is not None:
                if events := self._reader.read(chunk):
                    yield events
            self._reader.note_usage(self._stream.chunks)
            if not self._exchange.finished:
                raise self._unfinished()
            yield self._reader.end(self._exchange.grounding)
        finally:
            if self._stream is not None:
                self._reader.note_usage(self._stream.chunks)
            self.usage = self._reader.usage
            await self.aclose()

    async def aclose(self) -> None:
        self._closed = True
        if self._exchange is not None:
            self._exchange.drop()
        if self._stream is not None:
            await self._stream.aclose()

    async def _opened(self, litellm: Any) -> Any:
        from llm.litellm_transport import Exchange

        handlers: Any = import_module("litellm.llms.custom_httpx.http_handler")
        self._exchange = Exchange(self._model, self._provider.key, self._connections)
        if self._closed:
            self._exchange.drop()
        try:
            return await litellm.acompletion(
                **self._asked,
                # An empty one would be looked for in the environment.
                api_key=self._provider.key or "none",
                api_base=self._base(),
                client=handlers.AsyncHTTPHandler(transport=self._exchange, follow_redirects=False),
                timeout=LONGEST,
                max_retries=0,
                num_retries=0,
            )
        except Exception as error:
            # litellm raises whatever comes up in it; each becomes one of ours.
            raise self._error(error) from error

    async def _next(self) -> Any:
        try:
            return await anext(self._stream)
        except StopAsyncIteration:
            return None
        except Exception as error:
            raise self._error(error) from error

    def _base(self) -> str:
        address = self._provider.address
        if self._provider.kind == "anthropic":
            return address.removesuffix("/v1")
        return address if address.endswith("/v1beta") else f"{address}/v1beta"

    def _error(self, error: Exception) -> ModelError:
        started = self._reader.started
        noted: ModelError | None = self._exchange.error
        if noted is not None:
            noted.started = started
            return noted
        if self._exchange.ended and not self._exchange.finished:
            return self._unfinished()
        cause: Any = getattr(error, "original_exception", None) or error
        status, said = getattr(cause, "status_code", None), str(cause)
        if key := self._provider.key:
            said = said.replace(key, "[key]")
        if self._exchange.answered and isinstance(status, int):
            # Anthropic's errors within a stream have no status: litellm calls them all 500.
            code = {"code": status} if status != 500 else {}
            return refusal_in_stream(self._model, {"message": said, **code}, started=started)
        if isinstance(status, int) and 400 <= status < 600 and not self._exchange.answered:
            return refusal(self._model, status, {}, said.encode())
        text = f"{self._model}: the provider sent what is not its format"
        return StreamBroken(text, reason="bad_data", detail=said[:500], started=started)

    def _unfinished(self) -> StreamBroken:
        text = f"{self._model}: the provider ended the answer without finishing it"
        return StreamBroken(text, reason="unfinished", started=self._reader.started)
