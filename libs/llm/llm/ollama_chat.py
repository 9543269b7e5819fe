"""Ollama's own wire: only there the size of the context can be set, and thinking be turned on and off."""

from llm.call import Model, WireAbilities
from llm.connections import Connections
from llm.endpoint import Endpoint
from llm.http_call import HttpCall, Post
from llm.json_lines import LineSplitter
from llm.listing import FirstModel
from llm.ollama_lines import OllamaReader
from llm.ollama_request import OllamaSettings, encode
from llm.quirks import Quirks
from llm.requests import Request


class OllamaModel(Model):
    """A model of an Ollama server; `name` may be left to what the server has."""

    wire = "ollama"

    def __init__(
        self,
        model_id: str,
        name: str | FirstModel,
        endpoint: Endpoint,
        connections: Connections,
        *,
        settings: OllamaSettings | None = None,
        quirks: Quirks | None = None,
    ) -> None:
        self.id = model_id
        self._name = name
        self._endpoint = endpoint
        self._connections = connections
        self._settings = settings or OllamaSettings()
        self._quirks = quirks or Quirks()
        self.abilities = WireAbilities(context_size=self._settings.context_size, effort=True)

    def call(self, request: Request) -> HttpCall:
        endpoint = self._endpoint
        at = f"ollama:{endpoint.base_url}:{self.id}"

        async def prepare() -> Post:
            name = self._name if isinstance(self._name, str) else await self._name.name()
            body = encode(request, name, self._settings, refused=self._quirks.refused(at))
            return Post(endpoint.url("api/chat"), endpoint.headers(), body)

        return HttpCall(
            self.id,
            prepare,
            OllamaReader(self.id),
            self._connections,
            key=endpoint.key,
            splitter=LineSplitter,
            refused=lambda status, detail: self._quirks.learn(at, status, detail),
        )
