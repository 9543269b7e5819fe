"""The guarded client. Every hop is looked up once, each of its addresses checked, and only those connected to.

No proxy of the environment is used: it would look the name up again, and reach what we may not. No cookies, no
credentials, no connection kept for another request.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property

import aiohttp
from yarl import URL

from outbound.answer import Answer, Excess, Fetched
from outbound.bodies import ACCEPTED
from outbound.errors import Failed
from outbound.names import Names, SystemNames
from outbound.own import OwnAddresses
from outbound.pinned import pinned_connector
from outbound.policy import Policy
from outbound.ranges import Address
from outbound.target import Target, target_of

_BECOME_GET = (301, 302, 303)
_REDIRECTS = (*_BECOME_GET, 307, 308)
_TRAVEL = frozenset(("accept", "accept-language", "content-type", "user-agent"))
"""Headers that go along to another origin; all others may be secrets."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` for everything, redirects and body included; `size` in bytes, as it arrives and unpacked."""

    seconds: float = 15.0
    size: int = 5 << 20
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    headers: Mapping[str, str]
    body: bytes | None

    def redirected(self, status: int, *, elsewhere: bool) -> _Request:
        """301, 302 and 303 become a GET; secrets stay with the origin that they were meant for."""
        method, headers, body = self.method, self.headers, self.body
        if status in _BECOME_GET and method != "HEAD":
            method, body = "GET", None
        if elsewhere:
            headers = {name: value for name, value in headers.items() if name.lower() in _TRAVEL}
        if body is None:
            headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
        return _Request(method, headers, body)


class Guarded:
    """One per process. Raises `Forbidden` for what may not be reached, `Failed` for what could not be."""

    def __init__(
        self,
        policy: Policy,
        limits: Limits | None = None,
        *,
        names: Names | None = None,
        agent: str = "Retinue",
        at_once: int = 64,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.policy = policy
        self.limits = limits or Limits()
        self._names = names or SystemNames()
        self._agent = agent
        self._places = asyncio.Semaphore(at_once)
        self._given_tls = tls
        self._own = OwnAddresses(self._names)

    async def aclose(self) -> None:
        await self._names.aclose()

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
        takes: Callable[[str], bool] | None = None,
        excess: Excess = "refuse",
    ) -> Fetched:
        """The whole answer. A body of a type that `takes` does not is not read (`Failed`, code `type`)."""
        async with self.open(url, method=method, headers=headers, body=body, limits=limits, policy=policy) as answer:
            if takes is not None and answer.status < 400 and not takes(answer.media_type):
                raise Failed("type", f"The answer is of the type {answer.media_type[:100] or 'unknown'}.")
            return await answer.read(excess)

    @asynccontextmanager
    async def open(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
    ) -> AsyncGenerator[Answer]:
        """An answer to be read within the block; redirects have been followed. `limits` and `policy` are this
        request's own, where it has some.
        """
        limits, policy = limits or self.limits, policy or self.policy
        request = _Request(method, dict(headers or {}), body)
        try:
            async with asyncio.timeout(limits.seconds), self._places:
                target = target_of(url)
                for redirects in range(limits.redirects + 1):
                    async with self._sent(request, target, policy) as response:
                        location = response.headers.get("Location")
                        if response.status not in _REDIRECTS or location is None:
                            yield Answer(response, str(target.url), redirects, limits.size)
                            return
                    target, before = _next(target, location), target
                    request = request.redirected(response.status, elsewhere=target.origin != before.origin)
                raise Failed("redirects", f"The address leads on more than {limits.redirects} times.")
        except TimeoutError as late:
            raise Failed("timeout", f"The server did not answer in full within {limits.seconds:g} s.") from late
        except (aiohttp.ClientError, ConnectionError) as broken:
            raise Failed("broken", "The answer broke off.", f"{type(broken).__name__}: {broken}") from broken

    @asynccontextmanager
    async def _sent(self, request: _Request, target: Target, policy: Policy) -> AsyncGenerator[aiohttp.ClientResponse]:
        """One hop: check, connect, ask."""
        addresses = await self._checked(target, policy)
        tls = self._tls if target.url.scheme == "https" else None
        async with aiohttp.ClientSession(
            connector=pinned_connector(addresses, tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            headers={"User-Agent": self._agent, "Accept-Encoding": ACCEPTED},
            auto_decompress=False,
            trust_env=False,
        ) as session:
            response = await _asked(session, request, target)
            try:
                yield response
            finally:
                response.close()

    async def _checked(self, target: Target, policy: Policy) -> list[Address]:
        """The addresses that this target leads to now, every one of them permitted."""
        policy.check_name(target)
        own = await self._own.addresses(policy.own)
        if target.literal is not None:
            found = [target.literal]
        else:
            found = list(await self._names.look_up(target.host, target.port))
        for address in found:
            policy.check_address(target, address, own)
        return found

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._given_tls or ssl.create_default_context()


async def _asked(session: aiohttp.ClientSession, request: _Request, target: Target) -> aiohttp.ClientResponse:
    try:
        return await session.request(
            request.method, target.url, headers=request.headers, data=request.body, allow_redirects=False
        )
    except aiohttp.ClientSSLError as wrong:
        raise Failed("tls", f"{target.host} shows no certificate that can be trusted.", str(wrong)) from wrong
    except aiohttp.ClientConnectorError as wrong:
        raise Failed("unreachable", f"{target.host} does not take connections.", str(wrong)) from wrong
    except TimeoutError:
        raise
    except (aiohttp.ClientError, OSError, ValueError) as wrong:
        raise Failed("broken", f"{target.host} does not speak http.", f"{type(wrong).__name__}: {wrong}") from wrong


def _next(target: Target, location: str) -> Target:
    """Where a redirect leads, relative to where it came from."""
    try:
        url = target.url.join(URL(location))
    except ValueError as wrong:
        raise Failed("redirects", "The address leads on to one that is none.", str(wrong)) from wrong
    return target_of(str(url))
