"""A connection that can lead to the checked addresses only, under the name that the certificate must carry."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from outbound.ranges import Address
from outbound.target import address_of


class PinnedResolver(AbstractResolver):
    """Answers every question with the same checked addresses."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Nothing is open."""


def pinned_connector(addresses: Sequence[Address], tls: ssl.SSLContext | None) -> aiohttp.TCPConnector:
    """A connector for one request. `tls` is None where none is spoken."""
    return aiohttp.TCPConnector(
        resolver=PinnedResolver(addresses),
        use_dns_cache=False,
        ssl=tls if tls is not None else True,
        force_close=True,
        socket_factory=_sockets_to(frozenset(addresses)),
    )


def _sockets_to(addresses: frozenset[Address]) -> Callable[[Any], socket.socket]:
    """Makes sockets, the last moment before connecting: whatever lies between must not have chosen another address."""

    def make(info: Any) -> socket.socket:
        family, kind, protocol, _, place = info
        if address_of(str(place[0])) not in addresses:
            raise PermissionError(f"{place[0]} was not checked")
        return socket.socket(family=family, type=kind, proto=protocol)

    return make
