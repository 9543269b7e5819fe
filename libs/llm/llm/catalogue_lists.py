"""What providers say they have: one reader per kind of list, each into `ModelFacts`.

A list that states nothing but names leaves everything else to what came with us (`base`): the caller's table.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import aiohttp
import orjson

from llm.catalogue_facts import EFFORTS, ModelFacts
from llm.catalogue_table import count, price
from llm.connections import Connections, proxy_for
from llm.errors import ModelError, StreamBroken
from llm.provider import Provider
from llm.refusals import not_a_stream, refusal

PATIENCE = 15.0  # seconds for one answer
LIMIT = 16 * 1024 * 1024  # bytes of one answer
MOST_PAGES = 10
MOST_SHOWN = 200
"""So many of Ollama's models are asked for what they can do, four at a time; the rest are listed without facts."""

NO_CHAT = re.compile(
    r"embed|whisper|tts|dall-e|rerank|moderation|image|audio|transcribe|guard|realtime|sora|babbage|davinci|"
    r"instruct-0914|computer-use|veo|lyria|imagen|aqa",
    re.I,
)

Row = dict[str, Any]
Base = Callable[[str], ModelFacts]
"""What came with us about the model with this bare name; its id and provider are filled in."""


async def listed(provider: Provider, connections: Connections, base: Base) -> list[ModelFacts]:
    """The provider's models that can chat. Raises `ModelError` if it does not say."""
    client = _Client(provider, connections)
    try:
        match provider.kind:
            case "anthropic":
                return [_of_anthropic(row, base) for row in await client.anthropic_pages()]
            case "gemini":
                rows = [row for row in await client.gemini_pages() if _generates(row)]
                return [_of_gemini(row, base) for row in rows]
            case "ollama":
                return await _of_ollama(client, base)
            case "openai":
                rows = await client.data("models")
                return [base(str(row["id"])) for row in _newest_first(rows) if not NO_CHAT.search(str(row["id"]))]
            case "openrouter":
                return [_of_openrouter(row, base) for row in await client.data("models")]
            case "compatible":
                rows = await client.data("models")
                return [_of_compatible(row, base) for row in rows if not NO_CHAT.search(str(row["id"]))]
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        text = f"{provider.name}: the provider's list of models is not one that we can read"
        raise StreamBroken(text, reason="bad_data", detail=repr(error)) from error


class _Client:
    """GET and POST against one provider, with its way to say who asks."""

    def __init__(self, provider: Provider, connections: Connections) -> None:
        self._provider = provider
        self._connections = connections
        address = provider.address
        # Both are found in the wild: the address of the server, and the one that other programs want.
        self._root = address if provider.kind in ("openai", "openrouter", "compatible") else _without_version(address)
        key = provider.key
        match provider.kind:
            case "anthropic":
                self._headers = {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}
            case "gemini":
                self._headers = {"x-goog-api-key": key} if key else {}
            case _:
                self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    async def data(self, path: str) -> list[Row]:
        answer = await self.ask(path)
        # Together answers with the bare list.
        return cast(list[Row], answer if isinstance(answer, list) else answer["data"])

    async def anthropic_pages(self) -> list[Row]:
        rows: list[Row] = []
        path = "v1/models?limit=1000"
        for _ in range(MOST_PAGES):
            answer = await self.ask(path)
            rows += answer["data"]
            if not answer.get("has_more") or not answer.get("last_id"):
                break
            path = f"v1/models?limit=1000&after_id={answer['last_id']}"
        return rows

    async def gemini_pages(self) -> list[Row]:
        rows: list[Row] = []
        path = "v1beta/models?pageSize=1000"
        for _ in range(MOST_PAGES):
            answer = await self.ask(path)
            rows += answer.get("models") or []
            if not answer.get("nextPageToken"):
                break
            path = f"v1beta/models?pageSize=1000&pageToken={answer['nextPageToken']}"
        return rows

    async def ask(self, path: str, body: Row | None = None) -> Any:
        """The JSON that a path answers with. Raises `ModelError`."""
        name, url = self._provider.name, f"{self._root}/{path}"
        try:
            async with asyncio.timeout(PATIENCE):
                async with self._connections.session().request(
                    "GET" if body is None else "POST",
                    url,
                    json=body,
                    headers=self._headers,
                    proxy=proxy_for(url),
                    allow_redirects=False,
                ) as response:
                    content = await _read(response)
                    if response.status // 100 != 2:
                        raise refusal(name, response.status, response.headers, content, key=self._provider.key)
                    kind = response.content_type
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            text = f"{name}: no connection to the provider"
            raise StreamBroken(text, reason="unreachable", detail=f"{url}: {error!r}") from error
        except (aiohttp.ClientError, OSError) as error:
            text = f"{name}: the provider did not answer with its list of models"
            raise StreamBroken(text, reason="lost", detail=f"{url}: {error!r}") from error
        try:
            return orjson.loads(content)
        except ValueError as error:
            raise not_a_stream(name, kind, content) from error


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    while len(body) < LIMIT and (data := await response.content.readany()):
        body += data
    return bytes(body)


def _without_version(address: str) -> str:
    return re.sub(r"/(v1|v1beta)$", "", address)


def _newest_first(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.get("created") or 0, reverse=True)


def _of_anthropic(row: Row, base: Base) -> ModelFacts:
    facts = replace(base(str(row["id"])), name=str(row.get("display_name") or row["id"]))
    facts = replace(
        facts,
        context=count(row.get("max_input_tokens")) or facts.context,
        max_output=count(row.get("max_tokens")) or facts.max_output,
    )
    capabilities: Row = row.get("capabilities") or {}
    if not capabilities:
        return facts
    effort: Row = capabilities.get("effort") or {}
    efforts = tuple(level for level in EFFORTS if _supported(effort.get(level))) if _supported(effort) else ()
    return replace(
        facts,
        images=_supported(capabilities.get("image_input")),
        reasoning=_supported(capabilities.get("thinking")),
        # Models that know no effort still think within a budget, into which an effort is translated.
        efforts=efforts or (facts.efforts if _supported(capabilities.get("thinking")) else ()),
        source="provider",
        stated=facts.stated | {"images"},
    )


def _supported(value: Any) -> bool:
    return bool(value.get("supported")) if isinstance(value, dict) else bool(value)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def _generates(row: Row) -> bool:
    methods = row.get("supportedGenerationMethods") or ()
    return "generateContent" in methods and not NO_CHAT.search(str(row["name"]))


def _of_gemini(row: Row, base: Base) -> ModelFacts:
    name = str(row["name"]).removeprefix("models/")
    facts = base(name)
    return replace(
        facts,
        name=str(row.get("displayName") or name),
        context=count(row.get("inputTokenLimit")) or facts.context,
        max_output=count(row.get("outputTokenLimit")) or facts.max_output,
        reasoning=bool(row.get("thinking", facts.reasoning)),
    )


def _of_openrouter(row: Row, base: Base) -> ModelFacts:
    facts = base(str(row["id"]))
    architecture: Row = row.get("architecture") or {}
    top: Row = row.get("top_provider") or {}
    prices: Row = row.get("pricing") or {}
    parameters: list[str] = row.get("supported_parameters") or []
    input_price, output_price = price(prices.get("prompt")), price(prices.get("completion"))
    return replace(
        facts,
        name=str(row.get("name") or row["id"]),
        context=count(row.get("context_length")),
        max_output=count(top.get("max_completion_tokens")),
        images="image" in (architecture.get("input_modalities") or ()),
        tools="tools" in parameters,
        reasoning="reasoning" in parameters,
        efforts=_efforts_of_openrouter(row, parameters),
        hosted_search=False,
        input_price=input_price,
        cached_price=price(prices.get("input_cache_read")),
        output_price=output_price,
        written_price=price(prices.get("input_cache_write")),
        search_price=None,
        long=None,
        source="provider",
        stated=frozenset({"images", "tools"}) if parameters else frozenset({"images"}),
    )


def _efforts_of_openrouter(row: Row, parameters: list[str]) -> tuple[str, ...]:
    reasoning: Row = row.get("reasoning") or {}
    told = reasoning.get("supported_efforts")
    if told:
        return tuple(effort for effort in EFFORTS if effort in told)
    return ("low", "medium", "high") if "reasoning" in parameters else ()


def _of_compatible(row: Row, base: Base) -> ModelFacts:
    """vLLM, LM Studio, llama.cpp, Groq, Mistral, Together and the like each have a word of their own."""
    facts = base(str(row["id"]))
    meta: Row = row.get("meta") or {}
    told = (row.get(word) for word in ("max_model_len", "context_length", "context_window", "max_context_length"))
    context = next((found for value in told if (found := count(value))), None) or count(
        meta.get("n_ctx") or meta.get("n_ctx_train")
    )
    facts = replace(facts, context=context or facts.context, source="provider" if context else facts.source)
    abilities = row.get("capabilities")
    if isinstance(abilities, dict):
        said = cast(Mapping[str, Any], abilities)
        can = {"tools": said.get("function_calling"), "images": said.get("vision")}
        known = {word: bool(value) for word, value in can.items() if value is not None}
        facts = replace(facts, **known, stated=facts.stated | set(known))
    return facts


async def _of_ollama(client: _Client, base: Base) -> list[ModelFacts]:
    names = [str(row["name"]) for row in (await client.ask("api/tags"))["models"]]
    names = [name for name in names if not NO_CHAT.search(name)]
    at_once = asyncio.Semaphore(4)

    async def shown(name: str) -> ModelFacts | None:
        async with at_once:
            try:
                row = await client.ask("api/show", {"model": name})
            except ModelError:
                # Deleted just now, or broken: the others are there all the same.
                return None
        return _of_ollama_model(row, base(name)) if _completes(row) else None

    found = await asyncio.gather(*(shown(name) for name in names[:MOST_SHOWN]))
    return [facts for facts in found if facts] + [base(name) for name in names[MOST_SHOWN:]]


def _completes(row: Row) -> bool:
    return "completion" in (row.get("capabilities") or ("completion",))


def _of_ollama_model(row: Row, facts: ModelFacts) -> ModelFacts:
    info: Row = row.get("model_info") or {}
    told = row.get("capabilities")
    abilities: list[str] = told or []
    context = count(info.get(f"{info.get('general.architecture')}.context_length"))
    is_reasoning = "thinking" in abilities
    return replace(
        facts,
        context=context,
        images="vision" in abilities,
        tools="tools" in abilities or not told,
        reasoning=is_reasoning,
        efforts=("none", "low", "medium", "high") if is_reasoning else (),
        # What runs on one's own machine is charged by nobody.
        input_price=0,
        output_price=0,
        source="provider",
        stated=frozenset({"images", "tools"}) if told else frozenset(),
    )
