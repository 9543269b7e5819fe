"""Where this deployment's own servers are, looked up now and then: another name may lead to them as well."""

from __future__ import annotations

import time
from ipaddress import ip_address

from outbound.errors import Failed
from outbound.names import Names
from outbound.policy import HostPort
from outbound.ranges import Address

_BELIEVED = 60.0
"""Seconds."""


class OwnAddresses:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._known: dict[HostPort, tuple[float, list[Address]]] = {}

    async def addresses(self, own: tuple[HostPort, ...]) -> frozenset[tuple[Address, int | None]]:
        """Address and port of each; a name that nobody knows now leads nobody there either."""
        return frozenset([(address, each.port) for each in own for address in await self._of(each)])

    async def _of(self, own: HostPort) -> list[Address]:
        until, known = self._known.get(own, (0.0, []))
        if time.monotonic() >= until:
            known = await self._found(own)
            self._known[own] = (time.monotonic() + _BELIEVED, known)
        return known

    async def _found(self, own: HostPort) -> list[Address]:
        try:
            return [ip_address(own.host)]
        except ValueError:
            pass
        try:
            return list(await self._names.look_up(own.host, own.port or 80))
        except Failed:
            return []
