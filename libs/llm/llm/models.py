"""Which model answers: `provider/name` ids into something to call, or a sentence that says what is missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from llm import demo
from llm.call import Model
from llm.connections import Connections, Patience
from llm.endpoint import Endpoint
from llm.errors import NotConfigured
from llm.listing import FirstModel
from llm.openai_chat import ChatModel

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_DEFAULT = "gpt-5-mini"
AUTO = "auto"  # the first model that a compatible server lists


@dataclass(slots=True, frozen=True)
class ModelSettings:
    """What the deployment says about its models; the names in the environment are those of `from_environment`.

    `default_model` None means: a default for the provider that was found (for a compatible server `openai/auto`, the
    first model that it lists), else `demo/tour`. `demo_pace` is seconds a word.
    """

    default_model: str | None = None
    openai_base_url: str | None = None
    openai_api_key: str | None = field(default=None, repr=False)
    patience: Patience = field(default_factory=Patience)
    demo_pace: float = demo.PACE

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "ModelSettings":
        """Read `RETINUE_MODEL`, `OPENAI_BASE_URL` and `OPENAI_API_KEY`; empty means unset."""
        return cls(
            default_model=environment.get("RETINUE_MODEL") or None,
            openai_base_url=environment.get("OPENAI_BASE_URL") or None,
            openai_api_key=environment.get("OPENAI_API_KEY") or None,
        )


class Models:
    """The entry to this library: one per process, closed at its end."""

    def __init__(self, settings: ModelSettings | None = None) -> None:
        self.settings = settings or ModelSettings()
        self._connections = Connections(self.settings.patience)
        self._first: FirstModel | None = None

    @property
    def default_id(self) -> str:
        """The model that answers where none was chosen. The demo only where no provider is set."""
        if self.settings.default_model:
            return self.settings.default_model
        if not self._has_openai:
            return demo.MODEL_ID
        return f"openai/{AUTO if self._is_compatible else OPENAI_DEFAULT}"

    def usable(self) -> list[str]:
        """What can be asked for now, for people: model ids, or `provider/NAME` where any name goes."""
        return ["openai/NAME", demo.MODEL_ID] if self._has_openai else [demo.MODEL_ID]

    def resolve(self, model_id: str | None = None) -> Model:
        """Find a model, without I/O. Raises `NotConfigured` naming the variable to set or what can be used instead."""
        model_id = model_id or self.default_id
        provider, _, name = model_id.partition("/")
        if model_id == demo.MODEL_ID:
            return demo.DemoModel(self.settings.demo_pace)
        if provider == "openai" and name:
            endpoint = self._openai(model_id)
            if name == AUTO and self._is_compatible:
                self._first = self._first or FirstModel(endpoint, self._connections, OPENAI_DEFAULT)
                return ChatModel(model_id, self._first, endpoint, self._connections)
            return ChatModel(model_id, name, endpoint, self._connections)
        usable = " or ".join(self.usable())
        hint = "" if self._has_openai else " (set OPENAI_API_KEY or OPENAI_BASE_URL to use openai/NAME)"
        raise NotConfigured(f"there is no model “{model_id}”; use {usable}{hint}")

    async def aclose(self) -> None:
        """Close every connection to a provider."""
        await self._connections.aclose()

    @property
    def _has_openai(self) -> bool:
        return bool(self.settings.openai_api_key or self.settings.openai_base_url)

    def _openai(self, model_id: str) -> Endpoint:
        if not self._has_openai:
            raise NotConfigured(
                f"{model_id} needs a key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a compatible server without keys"
            )
        base_url = self.settings.openai_base_url or OPENAI_URL
        parts = urlsplit(base_url)
        if not (parts.scheme in ("http", "https") and parts.hostname):
            raise NotConfigured("OPENAI_BASE_URL must be an address such as http://127.0.0.1:11434/v1")
        # OpenAI's reasoning models refuse the old name, most imitators do not know the new one.
        limit_field = "max_tokens" if self._is_compatible else "max_completion_tokens"
        return Endpoint(base_url, self.settings.openai_api_key or "", limit_field)

    @property
    def _is_compatible(self) -> bool:
        """Whether the address is another server's than OpenAI's own."""
        base_url = self.settings.openai_base_url
        return bool(base_url) and not base_url.startswith("https://api.openai.com/")
