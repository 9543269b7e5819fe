"""OpenAI's Responses wire: taken where the provider is to search the web, or to keep its reasoning between steps."""

from llm.call import Model, WireAbilities
from llm.connections import Connections
from llm.endpoint import Endpoint
from llm.http_call import HttpCall, Post
from llm.openai_responses_events import ResponsesReader
from llm.openai_responses_request import encode
from llm.quirks import Quirks
from llm.reasoning import origin
from llm.requests import Request


class ResponsesModel(Model):
    """A model behind `/responses`."""

    wire = "responses"
    abilities = WireAbilities(hosted_search=True, effort=True)

    def __init__(
        self, model_id: str, name: str, endpoint: Endpoint, connections: Connections, quirks: Quirks | None = None
    ) -> None:
        self.id = model_id
        self._name = name
        self._endpoint = endpoint
        self._connections = connections
        self._quirks = quirks or Quirks()

    def call(self, request: Request) -> HttpCall:
        endpoint, kept = self._endpoint, origin("responses", self.id, self._endpoint.key)

        async def prepare() -> Post:
            body = encode(request, self._name, origin=kept, refused=self._quirks.refused(kept))
            return Post(endpoint.url("responses"), endpoint.headers(), body)

        return HttpCall(
            self.id,
            prepare,
            ResponsesReader(self.id, kept),
            self._connections,
            key=endpoint.key,
            refused=lambda status, detail: self._quirks.learn(kept, status, detail),
        )
