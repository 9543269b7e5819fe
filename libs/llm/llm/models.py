"""Which model answers: `provider/name` ids into something to call, or a sentence that says what is missing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from llm import chat_request, demo, provider
from llm.call import Model
from llm.connections import Connections, Patience
from llm.endpoint import Endpoint
from llm.errors import NotConfigured
from llm.listing import FirstModel
from llm.ollama_chat import OllamaModel
from llm.ollama_request import OllamaSettings
from llm.openai_chat import ChatModel
from llm.openai_responses import ResponsesModel
from llm.provider import AUTO, DEFAULT_MODEL, Provider, Wants, ollama_root
from llm.quirks import Quirks

# These models of OpenAI's have no chat completions.
ONLY_RESPONSES = re.compile(r"-pro\b|codex|deep-research")

SETTERS = {
    "openai": "OPENAI_API_KEY, or OPENAI_BASE_URL for a compatible server without keys",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "ollama": "OLLAMA_BASE_URL",
}


@dataclass(slots=True, frozen=True)
class ModelSettings:
    """What the deployment says about its models; the names in the environment are those of `from_environment`.

    `default_model` None means: a default for the first provider that was found, else `demo/tour`. `openai_base_url`
    and `openai_api_key` are the provider `openai`, which goes before `providers`. `demo_pace` is seconds a word.
    """

    default_model: str | None = None
    openai_base_url: str | None = None
    openai_api_key: str | None = field(default=None, repr=False)
    patience: Patience = field(default_factory=Patience)
    demo_pace: float = demo.PACE
    providers: tuple[Provider, ...] = ()
    ollama: OllamaSettings = field(default_factory=OllamaSettings)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "ModelSettings":
        """Read `RETINUE_MODEL` and what `provider.from_environment` reads; empty means unset."""
        return cls(
            default_model=environment.get("RETINUE_MODEL") or None, providers=provider.from_environment(environment)
        )


class Models:
    """The entry to this library: one per process, closed at its end."""

    def __init__(self, settings: ModelSettings | None = None) -> None:
        self.settings = settings or ModelSettings()
        openai = provider.openai_provider(self.settings.openai_base_url or "", self.settings.openai_api_key or "")
        self.providers: tuple[Provider, ...] = (*((openai,) if openai else ()), *self.settings.providers)
        """Those of the settings, which serve where a call names none."""
        self.connections = Connections(self.settings.patience)
        self._first: dict[Provider, FirstModel] = {}
        self._quirks = Quirks()

    def default_id(self, providers: Sequence[Provider] | None = None) -> str:
        """The model that answers where none was chosen. The demo only where there is no provider."""
        providers = self.providers if providers is None else providers
        if self.settings.default_model:
            return self.settings.default_model
        return providers[0].default_model if providers else demo.MODEL_ID

    def usable(self, providers: Sequence[Provider] | None = None) -> list[str]:
        """What can be asked for now, for people: model ids, or `provider/NAME` where any name goes."""
        providers = self.providers if providers is None else providers
        return [*dict.fromkeys(f"{provider.name}/NAME" for provider in providers), demo.MODEL_ID]

    def resolve(
        self, model_id: str | None = None, *, providers: Sequence[Provider] | None = None, wants: Wants | None = None
    ) -> Model:
        """Find a model, without I/O. Raises `NotConfigured` naming the variable to set or what can be used instead.

        `providers` are all that may serve this call, a user's own ones first; None means those of the settings.
        """
        providers = self.providers if providers is None else providers
        model_id = model_id or self.default_id(providers)
        prefix, _, name = model_id.partition("/")
        if model_id == demo.MODEL_ID:
            return demo.DemoModel(self.settings.demo_pace)
        found = provider.named(prefix, providers)
        if found is not None and name:
            return self._model(model_id, name, found, wants or Wants())
        if name and prefix in SETTERS:
            raise NotConfigured(f"{model_id} needs a key or an address: set {SETTERS[prefix]}")
        usable = " or ".join(self.usable(providers))
        hint = "" if providers else " (set OPENAI_API_KEY or OPENAI_BASE_URL to use openai/NAME)"
        raise NotConfigured(f"there is no model “{model_id}”; use {usable}{hint}")

    async def aclose(self) -> None:
        """Close every connection to a provider."""
        await self.connections.aclose()

    def _model(self, model_id: str, name: str, found: Provider, wants: Wants) -> Model:
        """The wire for this provider's kind and what is wanted of it."""
        if found.is_keyless:
            raise NotConfigured(f"{model_id} needs a key: set {SETTERS[found.kind]}")
        endpoint, quirks = Endpoint(found.address, found.key), self._quirks
        match found.kind:
            case "anthropic" | "gemini":
                from llm.litellm_model import LitellmModel

                return LitellmModel(model_id, name, found, self.connections)
            case "ollama":
                endpoint = Endpoint(ollama_root(found.address), found.key)
                named = self._named(name, found, endpoint, "api/tags")
                ollama = self.settings.ollama
                return OllamaModel(model_id, named, endpoint, self.connections, settings=ollama, quirks=quirks)
            case "openai" if wants.hosted_search or wants.reasoning or ONLY_RESPONSES.search(name):
                return ResponsesModel(model_id, name, endpoint, self.connections, quirks)
            case "openai":
                return self._chat(model_id, name, endpoint, chat_request.OPENAI)
            case "openrouter":
                return self._chat(model_id, name, endpoint, chat_request.OPENROUTER)
            case "compatible":
                named = self._named(name, found, endpoint, "models")
                return self._chat(model_id, named, endpoint, chat_request.COMMON)

    def _chat(self, model_id: str, name: str | FirstModel, endpoint: Endpoint, dialect: chat_request.Dialect) -> Model:
        return ChatModel(model_id, name, endpoint, self.connections, dialect=dialect, quirks=self._quirks)

    def _named(self, name: str, found: Provider, endpoint: Endpoint, path: str) -> str | FirstModel:
        """The name itself, or whatever the server lists first."""
        if name != AUTO:
            return name
        if found not in self._first:
            # An Ollama without models says best itself that it has none.
            otherwise = AUTO if found.kind == "ollama" else DEFAULT_MODEL["openai"]
            self._first[found] = FirstModel(endpoint, self.connections, otherwise, path=path)
        return self._first[found]
