"""Fetches a model into an Ollama server, and says how far it has got."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson

from llm.connections import Connections, proxy_for
from llm.endpoint import Endpoint
from llm.errors import ModelError, ModelUnknown, StreamBroken
from llm.json_lines import LineSplitter
from llm.provider import Provider, ollama_root
from llm.refusals import refusal

LINE_LIMIT = 1024 * 1024  # bytes


@dataclass(slots=True, frozen=True)
class Progress:
    """How far it is, in bytes over all layers that have been named; `is_done` comes once, as the last."""

    status: str
    completed: int = 0
    total: int = 0
    is_done: bool = False


async def pull(provider: Provider, model: str, connections: Connections) -> AsyncIterator[Progress]:
    """Yield the progress until the model is there; the server works only as long as somebody listens.

    What had been fetched is kept when it is asked for again. Raises `ModelError`: `ModelUnknown` if there is no such
    model, `StreamBroken` if the server is gone or says nothing for longer than its silence is borne.
    """
    endpoint = Endpoint(ollama_root(provider.address), provider.key)
    url = endpoint.url("api/pull")
    layers: dict[str, tuple[int, int]] = {}
    try:
        async with connections.session().post(
            url,
            data=orjson.dumps({"model": model, "name": model, "stream": True}),
            headers={"Content-Type": "application/json", **endpoint.headers()},
            proxy=proxy_for(url),
            allow_redirects=False,
        ) as response:
            if response.status // 100 != 2:
                raise refusal(model, response.status, response.headers, await response.read(), key=provider.key)
            async with aclosing(_lines(response, connections.patience.silence)) as lines:
                async for line in lines:
                    progress = _progress(model, line, layers)
                    yield progress
                    if progress.is_done:
                        return
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        text = f"{model}: no connection to {provider.name}"
        raise StreamBroken(text, reason="unreachable", detail=f"{url}: {error!r}") from error
    except (aiohttp.ClientError, OSError) as error:
        reason = "silence" if isinstance(error, TimeoutError) else "lost"
        text = f"{model}: the connection to {provider.name} was lost"
        raise StreamBroken(text, reason=reason, detail=repr(error)) from error
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        text = f"{model}: {provider.name} answered with something else than its progress"
        raise StreamBroken(text, reason="bad_data", detail=repr(error)) from error
    raise StreamBroken(f"{model}: {provider.name} ended before the model was there", reason="unfinished")


async def _lines(response: aiohttp.ClientResponse, silence: float) -> AsyncGenerator[Any]:
    splitter = LineSplitter(LINE_LIMIT)
    while True:
        async with asyncio.timeout(silence):
            data = await response.content.readany()
        for line in splitter.feed(data) if data else splitter.end():
            yield orjson.loads(line)
        if not data:
            return


def _progress(model: str, line: Any, layers: dict[str, tuple[int, int]]) -> Progress:
    if line.get("error"):
        raise _failed(model, str(line["error"]))
    status = str(line.get("status") or "")
    if line.get("digest") and line.get("total"):
        layers[line["digest"]] = (int(line.get("completed") or 0), int(line["total"]))
    done, total = (sum(sizes) for sizes in zip(*layers.values(), strict=True)) if layers else (0, 0)
    return Progress(status, done, total, is_done=status == "success")


def _failed(model: str, said: str) -> ModelError:
    if "file does not exist" in said or "not found" in said:
        return ModelUnknown(f"{model}: there is no such model to fetch", detail=said)
    return StreamBroken(f"{model}: it could not be fetched", reason="lost", detail=said)
