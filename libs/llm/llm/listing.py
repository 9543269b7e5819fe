"""Which model to take where nobody has chosen one: the first that a server lists, asked for once."""

import asyncio
import re
from typing import Any

import aiohttp
import orjson

from llm.connections import Connections, proxy_for
from llm.endpoint import Endpoint

LISTING_TIME = 10.0  # seconds
LISTING_LIMIT = 4 * 1024 * 1024  # bytes
NO_CHAT = re.compile(r"embed|whisper|tts|dall-e|rerank|moderation|image|audio|transcribe|guard", re.I)


async def models_of(endpoint: Endpoint, connections: Connections, *, path: str = "models") -> list[str]:
    """The names of a server's models, in its order; empty if it does not list them. Ollama's list is `api/tags`."""
    url = endpoint.url(path)
    try:
        async with asyncio.timeout(LISTING_TIME):
            async with connections.session().get(
                url, headers=endpoint.headers(), proxy=proxy_for(url), allow_redirects=False
            ) as response:
                if response.status != 200:
                    return []
                body = bytearray()
                while len(body) < LISTING_LIMIT and (data := await response.content.readany()):
                    body += data
                answer: dict[str, Any] = orjson.loads(body)
                if "models" in answer:
                    return [str(entry["name"]) for entry in answer["models"]]
                return [str(entry["id"]) for entry in answer["data"]]
    except (aiohttp.ClientError, OSError, ValueError, LookupError, TypeError):
        # A listing is a courtesy; the call itself will say what is wrong with the provider.
        return []


class FirstModel:
    """The name of an endpoint's first model that can chat, asked for once; `otherwise` if it lists none."""

    def __init__(self, endpoint: Endpoint, connections: Connections, otherwise: str, *, path: str = "models") -> None:
        self._endpoint = endpoint
        self._connections = connections
        self._otherwise = otherwise
        self._path = path
        self._found: str | None = None

    async def name(self) -> str:
        if self._found is None:
            names = await models_of(self._endpoint, self._connections, path=self._path)
            self._found = next((name for name in names if not NO_CHAT.search(name)), None)
        # What was not found may be there next time: a local server can be up before its models are.
        return self._found or self._otherwise
