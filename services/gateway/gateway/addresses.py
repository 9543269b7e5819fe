"""The address a request really comes from, seen through the proxies that we trust and no others."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from starlette.requests import Request

from chassis.errors import Misconfigured


class ClientAddresses:
    """Reads X-Forwarded-For from the right, as far as the hops are trusted. Raises `Misconfigured` for bad networks."""

    def __init__(self, trusted: list[str]) -> None:
        try:
            self._trusted: list[IPv4Network | IPv6Network] = [ip_network(entry, strict=False) for entry in trusted]
        except ValueError as wrong:
            raise Misconfigured(f"RETINUE_TRUSTED_PROXIES: {wrong}") from None

    def of(self, request: Request) -> str:
        """The client's address as text; `unknown` if there is none (a Unix socket)."""
        address = request.client.host if request.client else "unknown"
        hops = [hop.strip() for hop in ",".join(request.headers.getlist("x-forwarded-for")).split(",") if hop.strip()]
        while hops and self._is_trusted(address):
            address = hops.pop()
        return _bucket(address)

    def _is_trusted(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._trusted)


def _bucket(address: str) -> str:
    """One customer's IPv6 network counts as one address: they have 2^64 to choose from."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:64]
    if parsed.version == 4:
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, 64), strict=False).network_address)
