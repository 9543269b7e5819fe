"""The catalogue against lists as providers send them, over real HTTP: facts, cache, failures, defaults, aliases."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date
from typing import Any

import pytest
from aiohttp import web

from llm import NotConfigured, Patience
from llm.catalogue import Catalogue
from llm.connections import Connections
from llm.provider import Provider

ANTHROPIC = {
    "data": [
        {
            "type": "model",
            "id": "claude-sonnet-9",
            "display_name": "Claude Sonnet 9",
            "max_input_tokens": 500_000,
            "max_tokens": 64_000,
            "capabilities": {
                "image_input": {"supported": True},
                "thinking": {"supported": True},
                "effort": {"supported": True, "low": {"supported": True}, "max": {"supported": True}},
            },
        },
        {"type": "model", "id": "claude-haiku-4-5-20251001", "display_name": "Claude Haiku 4.5"},
    ],
    "has_more": False,
}
GEMINI = {
    "models": [
        {
            "name": "models/gemini-9-flash",
            "displayName": "Gemini 9 Flash",
            "inputTokenLimit": 77_000,
            "outputTokenLimit": 8_000,
            "supportedGenerationMethods": ["generateContent"],
            "thinking": True,
        },
        {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
    ]
}
OPENAI = {
    "data": [
        {"id": "gpt-5-mini", "created": 2},
        {"id": "text-embedding-3-small", "created": 4},
        {"id": "gpt-99", "created": 3},
    ]
}
OPENROUTER = {
    "data": [
        {"id": "~google/gemini-flash-lite-latest", "pricing": {"prompt": "0", "completion": "0"}},
        {
            "id": "google/gemini-9-flash-lite",
            "name": "Google: Gemini 9 Flash Lite",
            "context_length": 1_000_000,
            "architecture": {"input_modalities": ["text", "image"]},
            "top_provider": {"max_completion_tokens": 65_000},
            "pricing": {"prompt": "0.0000001", "completion": "0.0000004", "input_cache_read": "0.00000001"},
            "supported_parameters": ["tools", "reasoning"],
        },
        {"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}, "context_length": 2_000_000},
    ]
}
VLLM = {"data": [{"id": "meta/llama-9", "max_model_len": 16_384}, {"id": "gpt-5-mini"}]}
TAGS = {"models": [{"name": "qwen9:8b"}, {"name": "bge-embed"}, {"name": "gone:1b"}, {"name": "minilm:1b"}]}
SHOWN: dict[str, Any] = {
    "qwen9:8b": {
        "capabilities": ["completion", "tools", "thinking"],
        "model_info": {"general.architecture": "qwen9", "qwen9.context_length": 40_960},
    },
    "minilm:1b": {"capabilities": ["embedding"], "model_info": {}},
}


class Lists:
    """A server of recorded lists that counts who asked, and fails on demand."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.status = 200
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if self.status != 200:
            return web.json_response({"error": {"message": "no sk-secret-key-1"}}, status=self.status)
        if request.path == "/api/show":
            shown = SHOWN.get((await request.json())["model"])
            return web.json_response(shown, status=200 if shown else 404)
        if request.path == "/v1/models" and "x-api-key" in request.headers:
            return web.json_response(ANTHROPIC)
        lists: dict[str, Any] = {
            "/v1beta/models": GEMINI,
            "/api/tags": TAGS,
            "/openai/models": OPENAI,
            "/or/models": OPENROUTER,
            "/v1/models": VLLM,
        }
        return web.json_response(lists[request.path])


@asynccontextmanager
async def served() -> AsyncIterator[Lists]:
    lists = Lists()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", lists.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    lists.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield lists
    await runner.cleanup()


@pytest.fixture
async def lists() -> AsyncIterator[Lists]:
    async with served() as found:
        yield found


Made = Callable[..., Catalogue]


@pytest.fixture
async def made() -> AsyncIterator[Made]:
    connections = Connections(Patience(connect=2))
    catalogues: list[Catalogue] = []

    def make(**options: Any) -> Catalogue:
        catalogues.append(Catalogue(connections, **options))
        return catalogues[-1]

    yield make
    for catalogue in catalogues:
        await catalogue.aclose()
    await connections.aclose()


async def test_anthropics_list(lists: Lists, made: Made):
    provider = Provider("anthropic", "anthropic", base_url=lists.url, key="k")
    sonnet, haiku = (await made().models_of(provider)).models
    assert (sonnet.id, sonnet.name, sonnet.source) == ("anthropic/claude-sonnet-9", "Claude Sonnet 9", "provider")
    assert (sonnet.context, sonnet.max_output, sonnet.efforts) == (500_000, 64_000, ("low", "max"))
    assert (sonnet.images, sonnet.reasoning, sonnet.input_price) == (True, True, None)
    assert (haiku.context, haiku.source) == (200_000, "litellm")


async def test_geminis_list(lists: Lists, made: Made):
    provider = Provider("gemini", "gemini", base_url=lists.url, key="k")
    (flash,) = (await made().models_of(provider)).models
    assert (flash.id, flash.context, flash.max_output) == ("gemini/gemini-9-flash", 77_000, 8_000)


async def test_openais_list_has_names_only(lists: Lists, made: Made):
    provider = Provider("openai", "openai", base_url=f"{lists.url}/openai", key="k")
    new, mini = (await made().models_of(provider)).models
    assert (new.id, new.source, new.context) == ("openai/gpt-99", "none", None)
    # Not OpenAI's own address: what it can is known, what it costs is not.
    assert (mini.context, mini.input_price) == (272_000, None)


async def test_openrouters_list_has_prices(lists: Lists, made: Made):
    provider = Provider("openrouter", "openrouter", base_url=f"{lists.url}/or", key="k")
    catalogue = made()
    await catalogue.models_of(provider)
    facts = catalogue.facts("openrouter/google/gemini-9-flash-lite", provider)
    assert (facts.input_price, facts.cached_price, facts.output_price) == (100_000, 10_000, 400_000)
    assert (facts.images, facts.tools, facts.efforts) == (True, True, ("low", "medium", "high"))
    assert catalogue.facts("openrouter/openrouter/auto", provider).input_price is None
    assert catalogue.default(provider) == "openrouter/openrouter/auto"
    assert catalogue.default(provider, "cheap") == "openrouter/google/gemini-9-flash-lite"
    alias = "~google/gemini-flash-lite-latest"
    assert catalogue.resolve_alias(alias, (provider,)) == "openrouter/google/gemini-9-flash-lite"


async def test_ollamas_list_says_what_models_can_do(lists: Lists, made: Made):
    provider = Provider("ollama", "ollama", base_url=lists.url)
    catalogue = made()
    (facts,) = (await catalogue.models_of(provider)).models
    assert (facts.id, facts.context, facts.tools, facts.images) == ("ollama/qwen9:8b", 40_960, True, False)
    assert (facts.input_price, facts.output_price) == (0, 0)
    assert catalogue.facts("ollama/auto", provider).context == 40_960


async def test_a_compatible_list(lists: Lists, made: Made):
    provider = Provider("lab", "compatible", base_url=f"{lists.url}/v1")
    llama, mini = (await made().models_of(provider)).models
    assert (llama.id, llama.context, llama.source) == ("lab/meta/llama-9", 16_384, "provider")
    assert (mini.context, mini.input_price, mini.efforts) == (272_000, None, ())


async def test_a_list_is_kept_and_asked_for_once_by_many(lists: Lists, made: Made):
    provider = Provider("lab", "compatible", base_url=f"{lists.url}/v1")
    catalogue = made()
    catalogue.warm([provider, provider])
    listings = await asyncio.gather(*(catalogue.models_of(provider) for _ in range(5)))
    assert len({id(listing) for listing in listings}) == 1
    await catalogue.models_of(provider)
    assert lists.asked == ["/v1/models"]
    await catalogue.models_of(provider, force=True)
    assert len(lists.asked) == 2


async def test_a_failure_keeps_the_old_list_and_says_so(lists: Lists, made: Made):
    provider = Provider("lab", "compatible", base_url=f"{lists.url}/v1", key="sk-secret-key-1")
    catalogue = made(fresh=0, again=3600)
    old = await catalogue.models_of(provider)
    lists.status = 401
    new = await catalogue.models_of(provider)
    assert (new.models, new.fetched_at) == (old.models, old.fetched_at)
    assert new.error == "lab: the provider refused the key"
    lists.status = 200
    # Not asked again at once, unless somebody insists.
    assert (await catalogue.models_of(provider)).error
    assert not (await catalogue.models_of(provider, force=True)).error


async def test_a_server_that_is_not_there(made: Made):
    provider = Provider("lab", "compatible", base_url="http://127.0.0.1:9/v1")
    listing = await made().models_of(provider)
    assert (listing.models, listing.error) == ((), "lab: no connection to the provider")


async def test_aliases_without_a_list_of_the_providers_own(made: Made):
    openai, anthropic = Provider("openai", "openai", key="k"), Provider("anthropic", "anthropic", key="k")
    catalogue = made(today=date(2026, 11, 30))
    # The short list does until litellm's is read.
    assert catalogue.resolve_alias("~claude-sonnet-latest", (openai, anthropic)) == "anthropic/claude-sonnet-5-5"
    await catalogue.load()
    assert catalogue.resolve_alias("openai/~gpt-mini-latest", (openai, anthropic)) == "openai/gpt-5.4-mini"
    assert catalogue.resolve_alias("openai/gpt-5", (openai,)) == "openai/gpt-5"
    with pytest.raises(NotConfigured, match=r"claude-sonet.*claude-sonnet"):
        catalogue.resolve_alias("~claude-sonet-latest", (openai, anthropic))
    with pytest.raises(NotConfigured):
        catalogue.resolve_alias("nobody/~gpt-latest", (openai,))


async def test_defaults_leave_out_what_has_been_retired(made: Made):
    anthropic, lab = Provider("anthropic", "anthropic", key="k"), Provider("lab", "compatible", base_url="http://h/v1")
    catalogue = made()
    assert catalogue.default(anthropic) == "anthropic/claude-sonnet-5-5"
    assert catalogue.default(anthropic, "cheap") == "anthropic/claude-haiku-5-5"
    assert (catalogue.default(lab), catalogue.default(lab, "cheap")) == ("lab/auto", None)


async def test_a_default_is_one_that_the_provider_lists(lists: Lists, made: Made):
    provider = Provider("anthropic", "anthropic", base_url=lists.url, key="k")
    catalogue = made()
    await catalogue.models_of(provider)
    assert catalogue.default(provider, "cheap") == "anthropic/claude-haiku-4-5-20251001"
