"""A provider of models as it was set up: which kind, where, with which key, and whose it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from llm.errors import NotConfigured

Kind = Literal["openai", "anthropic", "gemini", "openrouter", "ollama", "compatible"]

KINDS: tuple[Kind, ...] = ("openai", "anthropic", "gemini", "openrouter", "ollama", "compatible")

OWN_ADDRESS: Mapping[Kind, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "openrouter": "https://openrouter.ai/api/v1",
    "ollama": "http://127.0.0.1:11434",
}

AUTO = "auto"  # the first model that a server lists which can chat

DEFAULT_MODEL: Mapping[Kind, str] = {
    "openai": "gpt-5.6-terra",
    "anthropic": "claude-sonnet-5",
    "gemini": "gemini-3.5-flash",
    "openrouter": "openrouter/auto",
    "ollama": AUTO,
    "compatible": AUTO,
}

NEEDS_KEY: frozenset[Kind] = frozenset({"openai", "anthropic", "gemini", "openrouter"})


@dataclass(frozen=True, slots=True)
class Provider:
    """Where models are asked for. Two with the same fields are the same provider.

    name:     the prefix of its models' ids: `openai/gpt-5.6-terra`, `lab/llama-3`.
    base_url: its address; empty means the provider's own (a `compatible` one has none).
    key:      empty for none.
    is_own:   a user's own key: it serves and pays for that user's turns only.
    """

    name: str
    kind: Kind
    base_url: str = ""
    key: str = field(default="", repr=False)
    is_own: bool = False

    @property
    def address(self) -> str:
        """The base URL in use, without a slash at its end. Raises `NotConfigured` if that is no http address."""
        url = (self.base_url or OWN_ADDRESS.get(self.kind, "")).rstrip("/")
        try:
            parts = urlsplit(url)
            is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            is_address = False
        if not is_address:
            raise NotConfigured(
                f"the address of the provider “{self.name}” must be one such as http://127.0.0.1:8000/v1, not “{url}”"
            )
        return url

    @property
    def is_keyless(self) -> bool:
        """It has no key although its kind cannot do without one."""
        return not self.key and self.kind in NEEDS_KEY and not self.base_url

    @property
    def default_model(self) -> str:
        """The id of the model to take where nobody has chosen one of this provider's."""
        return f"{self.name}/{DEFAULT_MODEL[self.kind]}"


@dataclass(frozen=True, slots=True)
class Wants:
    """What a call must be able to do, so that the wire is chosen by it.

    hosted_search: the provider itself searches the web while it answers.
    reasoning:     the model reasons, and what it thought is to be kept from step to step.
    """

    hosted_search: bool = False
    reasoning: bool = False


def from_environment(environment: Mapping[str, str]) -> tuple[Provider, ...]:
    """The providers that the environment sets up, in the order in which their defaults are taken; empty is unset."""

    def value(name: str) -> str:
        return environment.get(name, "").strip()

    found: list[Provider] = []
    openai = openai_provider(value("OPENAI_BASE_URL"), value("OPENAI_API_KEY"))
    if openai:
        found.append(openai)
    if key := value("ANTHROPIC_API_KEY"):
        found.append(Provider("anthropic", "anthropic", key=key))
    if key := value("GEMINI_API_KEY"):
        found.append(Provider("gemini", "gemini", key=key))
    if key := value("OPENROUTER_API_KEY"):
        found.append(Provider("openrouter", "openrouter", key=key))
    if url := value("OLLAMA_BASE_URL"):
        found.append(Provider("ollama", "ollama", base_url=url))
    return tuple(found)


def openai_provider(base_url: str, key: str) -> Provider | None:
    """`openai/…` as the environment means it: OpenAI itself, or at another address a server that speaks like it."""
    if not (base_url or key):
        return None
    is_openai = not base_url or base_url.startswith("https://api.openai.com/")
    return Provider("openai", "openai" if is_openai else "compatible", base_url=base_url, key=key)


def ollama_root(address: str) -> str:
    """Where Ollama's own wire is: people often give the address that other programs want."""
    return address.removesuffix("/v1").removesuffix("/api")


def named(name: str, providers: Sequence[Provider]) -> Provider | None:
    """The first provider of this name: a user's own one goes before the deployment's."""
    return next((provider for provider in providers if provider.name == name), None)
