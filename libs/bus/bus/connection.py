"""One way to connect to NATS: reconnect for ever, an inbox of the user's own, and a word on every change."""

# nats-py types its keyword arguments loosely.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import nats.errors

from bus.client import BusClient

log = logging.getLogger(__name__)

RECONNECT_WAIT = 0.25
"""Seconds between attempts; short, because a broker on the same machine is back within 0.1 s."""

FLUSHER_QUEUE = 4096
"""Pending flush wake-ups; publishes of one loop turn share a write."""

_AWAY = (
    OSError,
    nats.errors.ConnectionClosedError,
    nats.errors.NoServersError,
    nats.errors.StaleConnectionError,
    nats.errors.TimeoutError,
    nats.errors.UnexpectedEOF,
)

Callback = Callable[[], Awaitable[None]]


async def quiet() -> None:
    """Nobody wants to know."""


def inbox_prefix(url: str) -> str:
    """Replies of a user arrive under `_INBOX.<user>`, the only inbox that its permissions let it read."""
    user = urlsplit(url).username
    return f"_INBOX.{user}" if user else "_INBOX"


def client_options(
    url: str,
    name: str,
    *,
    on_disconnect: Callback = quiet,
    on_reconnect: Callback = quiet,
    is_closed: Callable[[], bool] = lambda: False,
) -> dict[str, object]:
    """Options that the raw client and FastStream's broker share. `is_closed`: whether we ourselves hung up."""

    async def disconnected() -> None:
        if is_closed():
            return  # the client says it at the end of a clean stop too, and nothing is away then
        log.warning("bus away", extra={"connection": name})
        await on_disconnect()

    async def reconnected() -> None:
        log.info("bus back", extra={"connection": name})
        await on_reconnect()

    async def failed(error: Exception) -> None:
        # While the broker is away each attempt ends here; the disconnect was already said once. Anything else, a
        # refused subject above all, would otherwise be silence.
        level = logging.DEBUG if isinstance(error, _AWAY) else logging.ERROR
        log.log(level, "bus error: %r", error, extra={"connection": name})

    return {
        "servers": [url],
        "name": name,
        "inbox_prefix": inbox_prefix(url),
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": RECONNECT_WAIT,
        "connect_timeout": 5,
        "flusher_queue_size": FLUSHER_QUEUE,
        "disconnected_cb": disconnected,
        "reconnected_cb": reconnected,
        "error_cb": failed,
    }


async def connect(url: str, name: str, *, on_disconnect: Callback = quiet, on_reconnect: Callback = quiet) -> BusClient:
    """A connected client; raises `nats.errors.Error` or OSError when the broker does not answer or refuses us."""
    client = BusClient()
    options = client_options(
        url, name, on_disconnect=on_disconnect, on_reconnect=on_reconnect, is_closed=lambda: client.is_closed
    )
    await client.connect(**options, allow_reconnect=True)  # pyright: ignore[reportArgumentType]
    return client
