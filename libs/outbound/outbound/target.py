"""An address as somebody gave it, read once: what is checked here is what is connected to later."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address

from yarl import URL

from outbound.errors import Forbidden
from outbound.ranges import Address

_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNWANTED = re.compile(r"[\x00-\x20\x7f\\]")

LONGEST = 8192
"""Characters of an address."""

_BAD_PORTS = frozenset(
    (
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
        109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526,
        530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045,
        4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    )
)  # fmt: skip
"""Ports of other protocols, the list that browsers have: a request must not be read as mail or as a command."""


@dataclass(frozen=True, slots=True)
class Target:
    """`host` is lower-case, in its ASCII form, without a trailing dot; `literal` is set where it is an IP address."""

    url: URL
    host: str
    port: int
    literal: Address | None

    @property
    def origin(self) -> tuple[str, str, int]:
        return (self.url.scheme, self.host, self.port)


def target_of(text: str) -> Target:
    """Reads an http(s) address without credentials. Raises `Forbidden` for any other."""
    if len(text) > LONGEST:
        raise Forbidden(f"The address has more than {LONGEST} characters.")
    if _UNWANTED.search(text):
        raise Forbidden("The address holds blanks, control characters or backslashes; write it as a browser shows it.")
    try:
        url = URL(text)
        port = url.port
    except ValueError as wrong:
        raise Forbidden("That is not an address; it must look like https://example.org/page.", str(wrong)) from wrong
    if url.scheme not in ("http", "https"):
        raise Forbidden("Only http and https addresses can be reached.")
    if not url.raw_host or port is None:
        raise Forbidden("The address names no host; it must look like https://example.org/page.")
    if "@" in url.raw_authority:
        raise Forbidden("The address holds a user name or password; leave that out.")
    host = url.raw_host.lower().removesuffix(".")
    literal = _literal(host)
    if literal is None and not (len(host) <= 253 and _NAME.fullmatch(host)):
        raise Forbidden("The host's name is not a valid one.")
    if port in _BAD_PORTS:
        raise Forbidden(f"Port {port} belongs to another protocol than http.")
    return Target(url.with_host(host).with_fragment(None), host, port, literal)


def _literal(host: str) -> Address | None:
    """The IP address that this host is, if it is one. Unusual notations (2130706433, 0x7f.1, 010.0.0.1) are refused:
    what reads them differs from program to program.
    """
    if ":" in host:
        try:
            address = IPv6Address(host)
        except AddressValueError as wrong:
            raise Forbidden("The host is not a valid IPv6 address.", str(wrong)) from wrong
        if address.scope_id is not None:
            raise Forbidden("An IPv6 address with a zone belongs to this machine's own networks.")
        return address
    if _NUMBER.fullmatch(host.rpartition(".")[2]) is None:
        return None
    try:
        return IPv4Address(host)
    except AddressValueError as wrong:
        raise Forbidden("Write an IPv4 address as four decimal numbers: 192.0.2.1.", str(wrong)) from wrong


def address_of(text: str) -> Address:
    """An address as a resolver gives it, which may carry a zone. Raises ValueError."""
    return ip_address(text.partition("%")[0])
