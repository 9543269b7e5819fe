"""Every setting of the turn-runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr
from pydantic_settings import NoDecode

from chassis.settings import ModelId, PublicUrl, ServiceSettings, print_table, setting

if TYPE_CHECKING:
    from llm.provider import Provider


def _listed(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _hosts(value: list[str]) -> list[str]:
    from outbound.policy import HostPort  # late: it brings the client, which a table of settings does not need

    for each in value:
        HostPort.read(each)
    return value


Hosts = Annotated[list[str], NoDecode, BeforeValidator(_listed), AfterValidator(_hosts)]
"""Hosts, each with a port or without; in the environment separated by commas."""


def _servers(value: list[str]) -> list[str]:
    for each in value:
        kind, _, address = each.partition("=")
        if kind not in ("ollama", "compatible") or urlsplit(address).scheme not in ("http", "https"):
            raise ValueError("must be such as ollama=http://127.0.0.1:11434, compatible=http://127.0.0.1:8000/v1")
    return value


Servers = Annotated[list[str], NoDecode, BeforeValidator(_listed), AfterValidator(_servers)]
"""Servers of models, each as `kind=address`."""


class RunnerSettings(ServiceSettings):
    service: ClassVar[str] = "turn-runner"

    runner_slots: int = setting(512, "turns that one runner works on at once", unit="turns", ge=1, group="Turns")
    turns_per_user: int = setting(4, "turns of one user that may be queued or running at once", unit="turns", ge=1)
    turns_total: int = setting(0, "turns of the deployment; 0 means the slots of all runners", unit="turns", ge=0)

    heartbeat_every: float = setting(1.5, "how often a runner says that it is alive", unit="s", gt=0)
    lease: float = setting(6.0, "how long a heartbeat keeps a runner alive", unit="s", gt=0)
    trust: float = setting(
        4.0, "age of the last good heartbeat beyond which a runner starts and commits nothing", unit="s", gt=0
    )
    sweep_every: float = setting(1.0, "how often a runner looks for turns that nobody holds", unit="s", gt=0)
    sweep_patience: float = setting(
        6.0, "own good heartbeats without a gap before a runner sweeps: a database that was away is a pause", unit="s"
    )

    recovery_budget: int = setting(
        5, "how often a turn is taken from a runner that died, before it fails", unit="times", ge=0
    )

    model: ModelId | None = setting(
        None, "provider/model that answers where none was chosen", group="Models", kind="model", live=True
    )
    model_cheap: ModelId | None = setting(
        None,
        "provider/model for small things such as titles; unset: a small one of the answer's provider",
        kind="model",
        live=True,
    )
    model_override: ModelId | None = setting(
        None, "provider/model that answers whatever was chosen", kind="model", live=True
    )
    titles: bool = setting(True, "whether threads get a title from the cheap model after the first answer", live=True)
    own_keys: bool = setting(
        True, "whether users may have provider keys of their own, which serve and pay for their turns", live=True
    )
    openai_base_url: str | None = setting(None, "OpenAI-compatible endpoint", env=("OPENAI_BASE_URL",), editable=False)
    openai_api_key: SecretStr | None = setting(None, "key of that endpoint", env=("OPENAI_API_KEY",), editable=False)
    anthropic_api_key: SecretStr | None = setting(None, "key of Anthropic", env=("ANTHROPIC_API_KEY",), editable=False)
    gemini_api_key: SecretStr | None = setting(None, "key of Gemini", env=("GEMINI_API_KEY",), editable=False)
    openrouter_api_key: SecretStr | None = setting(
        None, "key of OpenRouter", env=("OPENROUTER_API_KEY",), editable=False
    )
    ollama_base_url: str | None = setting(None, "address of an Ollama server", env=("OLLAMA_BASE_URL",), editable=False)
    ollama_context: int | None = setting(
        None,
        "context that Ollama loads a model with; unset: 32,768 if this machine has 24 GiB of memory, else 16,384",
        unit="tokens",
        ge=1024,
    )
    ollama_keep_alive: str = setting(
        "30m", "how long Ollama keeps a model loaded after a call, in its words: 30m, -1 for ever, 0 not at all"
    )
    local_servers: Servers = setting(
        [
            "ollama=http://127.0.0.1:11434",
            "compatible=http://127.0.0.1:1234/v1",
            "compatible=http://127.0.0.1:8000/v1",
            "compatible=http://127.0.0.1:8080/v1",
        ],
        "addresses where servers of models are looked for and offered (Ollama, LM Studio, vLLM, llama.cpp), each as "
        "kind=address, comma-separated",
        live=True,
    )
    local_server_wait: float = setting(2.0, "how long such a server has to answer", unit="s", gt=0, le=30, live=True)
    listing_wait: float = setting(
        5.0, "how long a page waits for providers to list their models", unit="s", gt=0, le=60, live=True
    )
    key_test_wait: float = setting(
        20.0, "how long a provider may take to answer when its key is tried", unit="s", gt=0, le=120, live=True
    )
    model_first_byte: float = setting(
        300.0, "how long a model may think before the first byte of its answer", unit="s", gt=0
    )
    model_silence: float = setting(120.0, "how long a model may be silent within its answer", unit="s", gt=0)
    model_retries: int = setting(
        3, "how often a model call is made again after a failure that may pass", unit="calls", ge=0, le=20, live=True
    )
    model_retry_pause: float = setting(
        0.5, "first pause before a model call is made again; doubles each time", unit="s", gt=0, live=True
    )
    model_retry_longest: float = setting(
        30.0, "longest pause between two calls; a provider that asks for more fails the turn", unit="s", gt=0, live=True
    )

    tool_output_bytes: int = setting(
        256 * 1024,
        "how much of a tool's output the wire and the prompt get",
        unit="bytes",
        ge=1024,
        group="Tools and blobs",
    )
    log_gather: float = setting(
        0.1, "how long the chunks of a busy runner may gather to one batch; 0: each goes at once", unit="s", ge=0, le=2
    )
    tool_input_bytes: int = setting(1 << 20, "largest arguments that a tool is called with", unit="bytes", ge=1024)
    blob_bytes: int = setting(
        100 << 20, "largest blob; a tool's output beyond it is refused, the model is told", unit="bytes", ge=1024
    )
    blob_keep: float = setting(86400.0, "how long a blob that nobody refers to is kept", unit="s", ge=3600)
    blob_sweep: float = setting(600.0, "how often blobs that nobody refers to are looked for", unit="s", gt=0)
    blob_threads: int = setting(2, "threads that read and write blobs", unit="threads", ge=1, le=64)
    outbound_allow: Hosts = setting(
        [],
        "private hosts that tools may reach all the same: host or host:port, comma-separated",
        group="The web",
        live=True,
    )
    web_timeout: float = setting(15.0, "how long fetching a page may take", unit="s", gt=0, le=60, live=True)
    web_bytes: int = setting(
        5 << 20, "how much of a page is read, packed or unpacked", unit="bytes", ge=1024, le=50 << 20, live=True
    )
    web_redirects: int = setting(5, "how often a page may lead on to another address", ge=0, le=20, live=True)
    web_at_once: int = setting(64, "requests to the web that one runner has open at once", ge=1)
    web_readers: int = setting(2, "pages that one runner turns into text at once", unit="processes", ge=1, le=64)

    search: Literal["auto", "provider", "firecrawl", "searxng", "off"] = setting(
        "auto",
        "who searches the web; auto: the model's provider where it can, else Firecrawl or SearXNG if set up",
        group="Search",
        live=True,
    )
    firecrawl_key: SecretStr | None = setting(
        None, "key of Firecrawl", env=("FIRECRAWL_API_KEY", "RETINUE_FIRECRAWL_KEY"), live=True
    )
    firecrawl_url: PublicUrl | None = setting(
        None, "address of a Firecrawl server of your own; unset: Firecrawl's cloud", live=True
    )
    searxng_url: PublicUrl | None = setting(None, "address of a SearXNG server that answers in JSON", live=True)
    search_results: int = setting(8, "results of a search that a model gets", ge=1, le=20, live=True)
    search_timeout: float = setting(15.0, "how long a search engine may take", unit="s", gt=0, le=60, live=True)

    log_unacknowledged: int = setting(
        1024 * 1024,
        "bytes of one turn that may wait for the log before its model waits too",
        unit="bytes",
        ge=1024,
        group="Streams",
    )
    stop_grace: float = setting(
        60.0, "how long turns may go on to a commit point after SIGTERM, before they are given back", unit="s", ge=0
    )

    @property
    def environment_providers(self) -> tuple[Provider, ...]:
        """The providers that the environment sets up."""
        from llm.provider import from_environment  # late: a table of settings needs no client of models

        def plain(secret: SecretStr | None) -> str:
            return secret.get_secret_value() if secret else ""

        return from_environment(
            {
                "OPENAI_BASE_URL": self.openai_base_url or "",
                "OPENAI_API_KEY": plain(self.openai_api_key),
                "ANTHROPIC_API_KEY": plain(self.anthropic_api_key),
                "GEMINI_API_KEY": plain(self.gemini_api_key),
                "OPENROUTER_API_KEY": plain(self.openrouter_api_key),
                "OLLAMA_BASE_URL": self.ollama_base_url or "",
            }
        )


if __name__ == "__main__":
    print_table(RunnerSettings)
