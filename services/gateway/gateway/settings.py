"""Every setting of the gateway; names are `RETINUE_*` unless a well-known one is given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, SecretStr
from pydantic_settings import NoDecode

from chassis.settings import ServiceSettings, is_loopback, print_table, setting
from gateway.events.limits import EventLimits
from gateway.streams.limits import StreamLimits

if TYPE_CHECKING:
    from store.turns import Limits

Registration = Literal["open", "invite", "closed"]


def _listed(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Listed = Annotated[list[str], NoDecode, BeforeValidator(_listed)]
"""A list; in the environment separated by commas."""


class GatewaySettings(ServiceSettings):
    service = "gateway"

    stop_grace: float = setting(8.0, "how long a stop may take before what is left is dropped", unit="s", ge=0)

    # The public door
    listen_fd: int | None = setting(
        None,
        "inherited listening socket; without one, host and port are bound",
        group="The public door",
        editable=False,
    )
    port: int = setting(8700, "public port, when no socket is inherited", ge=0, le=65535, editable=False)
    web_dist: Path | None = setting(None, "folder with the built web page", editable=False)
    allowed_hosts: Listed = setting([], "Host names accepted beside loopback and the public URL's, comma-separated")
    cors_origins: Listed = setting([], "origins whose pages may call the API with a bearer token, comma-separated")
    trusted_proxies: Listed = setting([], "addresses or networks whose X-Forwarded-For is believed, comma-separated")
    body_limit: int = setting(1 << 20, "largest request body", unit="bytes", ge=1024)
    chat_body_limit: int = setting(
        16 << 20, "largest request body where a client sends its whole history", unit="bytes", ge=1024
    )
    body_timeout: float = setting(30.0, "how long a request body may take to arrive", unit="s", gt=0)

    # Accounts
    registration: Registration | None = setting(
        None, "open, invite or closed; unset: open on loopback, else invite", group="Accounts", live=True
    )
    session_days: float = setting(30.0, "how long a session lasts after its last use", unit="days", gt=0)
    expired_grace: float = setting(600.0, "how long an expired session may read a running stream", unit="s", ge=0)
    auth_cache: float = setting(
        3.0, "how long a looked-up session or token is believed; a logout elsewhere shows after that", unit="s", ge=0
    )
    tokens_per_user: int = setting(100, "API tokens that one user may have", ge=1)
    password_threads: int = setting(2, "passwords hashed at a time", unit="threads", ge=1, le=64)
    password_queue: int = setting(512, "passwords that may wait to be hashed; more get 503", ge=0)

    # Throttles
    redis_url: SecretStr = setting(
        SecretStr(""),
        "Valkey, for limits shared by all gateways",
        env=("REDIS_URL",),
        group="Throttles",
        editable=False,
    )
    redis_timeout: float = setting(0.25, "how long Valkey may take before it counts as away", unit="s", gt=0)
    login_window: float = setting(300.0, "window in which logins are counted", unit="s", gt=0)
    login_per_username: int = setting(10, "failed logins per user name and window", ge=1)
    login_per_address: int = setting(100, "failed logins per client address and window", ge=1)
    register_window: float = setting(3600.0, "window in which registrations are counted", unit="s", gt=0)
    register_per_address: int | None = setting(
        None, "registrations per client address and window; unset: 20 in production, else 2000", ge=1
    )
    login_when_away: int = setting(5, "failed logins per name and window in each process while Valkey is away", ge=1)
    request_window: float = setting(60.0, "window in which requests are counted", unit="s", gt=0)
    requests_per_user: int = setting(0, "requests per signed-in user and window; 0: no limit", ge=0)
    requests_per_address: int = setting(0, "requests without sign-in per client address and window; 0: no limit", ge=0)

    # Settings and providers
    rpc_timeout: float = setting(
        30.0,
        "how long a turn-runner may take to answer a question",
        unit="s",
        gt=0,
        le=600,
        group="Settings",
        live=True,
    )
    own_keys: bool = setting(
        True, "whether users may have provider keys of their own, which serve and pay for their turns", live=True
    )
    providers_per_owner: int = setting(50, "providers that a user, or the deployment, may save", ge=1, live=True)
    key_tests_per_user: int = setting(30, "provider keys that one user may try per minute", ge=1, live=True)

    # Turns
    turns_per_user: int = setting(4, "turns of one user that may be queued or running at once", ge=1, group="Turns")
    turns_total: int = setting(0, "turns of all users at once; 0: as many as the runners have slots", ge=0)
    turns_waiting: int = setting(10, "turns that may wait in one thread", ge=1)
    turns_waiting_per_user: int = setting(1000, "turns that may wait for one user, over all threads", ge=1)
    turns_retry_after: int = setting(10, "when a client that met a full queue may come again", unit="s", ge=1)
    message_window: float = setting(86400.0, "window in which messages are counted", unit="s", gt=0)
    messages_per_user: int = setting(0, "messages per user, channel and window; 0: no limit", ge=0)
    message_limit: int = setting(512 * 1024, "largest message, as JSON", unit="bytes", ge=1024)

    # Agents
    agents_per_user: int = setting(
        200, "agents of one user, those put away included", unit="agents", ge=1, group="Agents", live=True
    )
    standing_orders_limit: int = setting(
        20_000, "longest standing orders of an agent", unit="characters", ge=100, live=True
    )
    inspector_messages: int = setting(
        200, "messages that are shown of what a model saw", unit="messages", ge=1, le=5000, live=True
    )
    inspector_text: int = setting(
        20_000, "characters that are shown of one text of what a model saw", unit="characters", ge=100, live=True
    )

    # Blobs
    blob_threads: int = setting(2, "threads that read blobs", unit="threads", ge=1, le=64, group="Blobs")
    blob_queue: int = setting(512, "reads of blobs that may wait for a thread; more get 503", ge=0)

    # Dead letters
    dead_letters_every: float = setting(
        30.0, "how often dead letters are counted for /metrics", unit="s", gt=0, group="Dead letters"
    )
    dead_letters_keep: float = setting(
        30 * 86400.0, "how long a dead letter is kept after its replay; others wait for a decision", unit="s", gt=0
    )
    dead_letter_shown: int = setting(64 * 1024, "how much of a payload is shown", unit="bytes", ge=1024)

    # Streams
    stream_queue_batches: int = setting(
        64, "batches queued for a slow viewer before it reads the log", ge=1, group="Streams"
    )
    stream_queue_bytes: int = setting(
        256 * 1024, "bytes queued for a slow viewer before it reads the log", unit="bytes", ge=1024
    )
    stream_held_batches: int = setting(256, "early batches that a viewer holds back", ge=1)
    stream_read_ahead: int = setting(
        1 << 20, "bytes of the stored log that a viewer keeps while it catches up", unit="bytes", ge=1024
    )
    stream_silence: float = setting(5.0, "silence after which a viewer reads row and log", unit="s", gt=0)
    stream_heartbeat: float = setting(15.0, "silence after which a viewer gets a comment", unit="s", gt=0)
    stream_drain: float = setting(5.0, "how long streams go on after a stop was asked for", unit="s", ge=0)
    connection_linger: float = setting(
        2.0, "how long an idle connection may still ask once after a stop was asked for", unit="s", ge=0
    )
    stream_stuck: float = setting(60.0, "a viewer that takes nothing for so long is reset", unit="s", gt=0)
    stream_unsent: int = setting(
        128 * 1024,
        "bytes that the system holds for a client which has no room for them; 0: as many as it likes",
        unit="bytes",
        ge=0,
    )
    stream_vanished: float = setting(
        120.0,
        "a client whose network acknowledges nothing for so long is given up; 0: the system's own",
        unit="s",
        ge=0,
    )

    # Threads and usage
    threads_keep_deleted: float = setting(
        30 * 86400.0, "how long a deleted thread may be brought back, before it goes for good", unit="s", ge=60
    )
    usage_days: int = setting(400, "days that one look at the usage may span", unit="days", ge=1, le=3660)

    # Events
    events_per_user: int = setting(32, "event streams that one user may have open in one gateway", ge=1)
    events_queue: int = setting(256, "hints that wait for a slow page before it is dropped", ge=1)
    events_age: float = setting(
        900.0, "how long an event stream lasts before its page connects anew and shows who it is", unit="s", gt=0
    )

    @property
    def event_limits(self) -> EventLimits:
        """What event streams go by."""
        return EventLimits(
            per_user=self.events_per_user,
            queue=self.events_queue,
            age=self.events_age,
            heartbeat=self.stream_heartbeat,
            stuck=self.stream_stuck,
        )

    @property
    def stream_limits(self) -> StreamLimits:
        """What readers of the chunk log go by."""
        return StreamLimits(
            queue_batches=self.stream_queue_batches,
            queue_bytes=self.stream_queue_bytes,
            held_batches=self.stream_held_batches,
            read_ahead=self.stream_read_ahead,
            silence=self.stream_silence,
            heartbeat=self.stream_heartbeat,
            stuck=self.stream_stuck,
        )

    @property
    def limits(self) -> Limits:
        """What the door of turns goes by."""
        from store.turns import Limits  # late: a table of settings needs no database

        return Limits(self.turns_per_user, self.turns_total, self.turns_waiting, self.turns_waiting_per_user)

    @property
    def registration_mode(self) -> Registration:
        return self.registration or ("invite" if self.production else "open")

    @property
    def registrations_per_address(self) -> int:
        return self.register_per_address or (20 if self.production else 2000)

    @property
    def is_https(self) -> bool:
        """Whether people reach this deployment over TLS, so that cookies may insist on it."""
        return self.public_origin.startswith("https://")

    @property
    def public_origin(self) -> str:
        """Scheme, host and port of the public URL; empty without one."""
        parts = urlsplit(self.public_url or "")
        return f"{parts.scheme}://{parts.netloc}".lower() if parts.netloc else ""

    @property
    def host_names(self) -> frozenset[str]:
        """Host names other than loopback's that requests may carry, in lower case, without ports."""
        named = [urlsplit(self.public_origin).hostname or "", *self.allowed_hosts]
        if not is_loopback(self.host) and self.host not in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
            named.append(self.host)
        return frozenset(name.lower().strip("[]") for name in named if name)


if __name__ == "__main__":
    print_table(GatewaySettings)
