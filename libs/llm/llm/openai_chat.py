"""The fast path: any provider with the OpenAI chat-completions wire, streamed through a thin reader of our own."""

from llm.call import Model, WireAbilities
from llm.chat_chunks import ChunkReader
from llm.chat_request import COMMON, Dialect, encode
from llm.connections import Connections
from llm.endpoint import Endpoint
from llm.http_call import HttpCall, Post
from llm.listing import FirstModel
from llm.quirks import Quirks
from llm.reasoning import origin
from llm.requests import Request


class ChatModel(Model):
    """A model behind a chat-completions endpoint; `name` may be left to what the endpoint has."""

    wire = "chat"
    abilities = WireAbilities(effort=True)

    def __init__(
        self,
        model_id: str,
        name: str | FirstModel,
        endpoint: Endpoint,
        connections: Connections,
        *,
        dialect: Dialect = COMMON,
        quirks: Quirks | None = None,
    ) -> None:
        self.id = model_id
        self._name = name
        self._endpoint = endpoint
        self._connections = connections
        self._dialect = dialect
        self._quirks = quirks or Quirks()

    def call(self, request: Request) -> HttpCall:
        endpoint, kept = self._endpoint, origin("chat", self.id, self._endpoint.key)

        async def prepare() -> Post:
            name = self._name if isinstance(self._name, str) else await self._name.name()
            refused = self._quirks.refused(kept)
            body = encode(request, name, dialect=self._dialect, origin=kept, refused=refused)
            return Post(endpoint.url("chat/completions"), endpoint.headers(), body)

        return HttpCall(
            self.id,
            prepare,
            ChunkReader(self.id, kept),
            self._connections,
            key=endpoint.key,
            refused=lambda status, detail: self._quirks.learn(kept, status, detail),
        )
