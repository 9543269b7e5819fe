"""Every setting of the turn-runner."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, SecretStr
from pydantic_settings import NoDecode

from chassis.settings import PublicUrl, ServiceSettings, print_table, setting


def _listed(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _hosts(value: list[str]) -> list[str]:
    from outbound.policy import HostPort  # late: it brings the client, which a table of settings does not need

    for each in value:
        HostPort.read(each)
    return value


Hosts = Annotated[list[str], NoDecode, BeforeValidator(_listed), AfterValidator(_hosts)]
"""Hosts, each with a port or without; in the environment separated by commas."""


class RunnerSettings(ServiceSettings):
    service: ClassVar[str] = "turn-runner"

    runner_slots: int = setting(512, "turns that one runner works on at once", unit="turns", ge=1)
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

    model: str | None = setting(None, "provider/model that answers where none was chosen")
    model_cheap: str | None = setting(
        None, "provider/model for small things such as titles; unset: a small one of the answer's provider"
    )
    model_override: str | None = setting(None, "provider/model that answers whatever was chosen")
    titles: bool = setting(True, "whether threads get a title from the cheap model after the first answer")
    openai_base_url: str | None = setting(None, "OpenAI-compatible endpoint", env=("OPENAI_BASE_URL",))
    openai_api_key: SecretStr | None = setting(None, "key of that endpoint", env=("OPENAI_API_KEY",))
    model_first_byte: float = setting(
        300.0, "how long a model may think before the first byte of its answer", unit="s", gt=0
    )
    model_silence: float = setting(120.0, "how long a model may be silent within its answer", unit="s", gt=0)
    model_retries: int = setting(
        3, "how often a model call is made again after a failure that may pass", unit="calls", ge=0, le=20
    )
    model_retry_pause: float = setting(
        0.5, "first pause before a model call is made again; doubles each time", unit="s", gt=0
    )
    model_retry_longest: float = setting(
        30.0, "longest pause between two calls; a provider that asks for more fails the turn", unit="s", gt=0
    )

    tool_output_bytes: int = setting(
        256 * 1024, "how much of a tool's output the wire and the prompt get", unit="bytes", ge=1024
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
        1024 * 1024, "bytes of one turn that may wait for the log before its model waits too", unit="bytes", ge=1024
    )
    stop_grace: float = setting(
        60.0, "how long turns may go on to a commit point after SIGTERM, before they are given back", unit="s", ge=0
    )


if __name__ == "__main__":
    print_table(RunnerSettings)
