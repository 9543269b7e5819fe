"""The one HTTP session of a process, shared by all model calls, and the patience they have."""

import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp


@dataclass(slots=True, frozen=True)
class Patience:
    """How long a call waits, in seconds, before it counts as broken.

    connect:    for a connection.
    first_byte: from then to the first byte of the answer's body; models that reason say nothing for long.
    silence:    between two reads once the answer runs; a provider's keep-alive comments count as reads.
    tail:       for usage and the end of the stream after the finish reason; without them the answer is still whole.
    """

    connect: float = 10.0
    first_byte: float = 300.0
    silence: float = 120.0
    tail: float = 5.0


class Connections:
    """A lazily opened `aiohttp` session without a limit on connections: a turn must never wait for another's."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> aiohttp.ClientSession:
        """The session; must be asked for inside the event loop."""
        if self._session is None or self._session.closed:
            connector = aiohttp.TCPConnector(
                limit=0, limit_per_host=0, ttl_dns_cache=60, ssl=ssl.create_default_context()
            )
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=self.patience.connect)
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "retinue", "Accept-Encoding": "identity"},
            )
        return self._session

    async def aclose(self) -> None:
        """Close the session and every connection of it."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for this address; never one for loopback."""
    address = urlsplit(url)
    host = address.hostname or ""
    if host == "localhost" or _is_loopback(host) or proxy_bypass(host):
        return None
    return getproxies().get(address.scheme)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
