"""Who may be reached: public addresses, never this deployment, and what an admin allowed by name."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from yarl import URL

from outbound.errors import Forbidden
from outbound.ranges import Address, is_never_allowed, is_public
from outbound.target import Target

_BLOCKED_NAMES = frozenset(("localhost", "metadata", "metadata.goog", "instance-data"))
_BLOCKED_ENDINGS = (".local", ".internal", ".localhost", ".localdomain", ".home.arpa")

NOT_PUBLIC = "This address is not on the public Internet; only public addresses can be reached from here."
OURS = "This address belongs to the system itself and cannot be reached from here."


@dataclass(frozen=True, slots=True)
class HostPort:
    """A host, and a port unless any is meant."""

    host: str
    port: int | None = None

    @classmethod
    def read(cls, text: str) -> Self:
        """`wiki.lan`, `wiki.lan:8080`, `10.1.2.3:80`, `[fd00::1]:80`. Raises ValueError."""
        if not text or any(sign in text for sign in "/@\\?# *"):
            raise ValueError(f"{text!r} is not a host or host:port")
        given = text if text.startswith("[") or text.count(":") < 2 else f"[{text}]"
        url = URL(f"any://{given}")
        if not url.raw_host:
            raise ValueError(f"{text!r} is not a host or host:port")
        return cls(url.raw_host.lower().removesuffix("."), url.explicit_port)

    @classmethod
    def of_url(cls, text: str) -> Self | None:
        """Host and port of a service's address (`postgresql://…`, `nats://…`); None if it names none."""
        try:
            url = URL(text)
            return cls(url.raw_host.lower().removesuffix("."), url.port) if url.raw_host else None
        except ValueError:
            return None

    def names(self, target: Target) -> bool:
        return self.host == target.host and self.port in (None, target.port)


@dataclass(frozen=True, slots=True)
class Policy:
    """`allowed` may be private (an admin's setting); `own` are the deployment's own servers and its public door."""

    allowed: tuple[HostPort, ...] = ()
    own: tuple[HostPort, ...] = ()

    def with_allowed(self, more: Iterable[HostPort]) -> Policy:
        return Policy((*self.allowed, *more), self.own)

    def permit(self, target: Target) -> HostPort | None:
        """The entry that allows this host, if one does; one with a port before one without."""
        fitting = [entry for entry in self.allowed if entry.names(target)]
        return max(fitting, key=lambda entry: entry.port is not None, default=None)

    def check_name(self, target: Target) -> None:
        """Raises `Forbidden` for a name that may not even be looked up."""
        if any(own.host == target.host and self._meets(own, target) for own in self.own):
            raise Forbidden(OURS, f"own host {target.host}:{target.port}")
        if target.literal is not None or self.permit(target) is not None:
            return
        host = target.host
        if "." not in host or host in _BLOCKED_NAMES or host.endswith(_BLOCKED_ENDINGS):
            raise Forbidden(NOT_PUBLIC, f"blocked name {host}")

    def check_address(self, target: Target, address: Address, own: frozenset[tuple[Address, int | None]]) -> None:
        """Raises `Forbidden` for an address that this target may not lead to. `own` are `self.own`, looked up."""
        permit = self.permit(target)
        if permit is None:
            if not is_public(address):
                raise Forbidden(NOT_PUBLIC, f"{target.host} is {address}")
            if any(address == ours for ours, _ in own) or is_of_this_machine(address):
                raise Forbidden(OURS, f"{target.host} is {address}")
            return
        if is_never_allowed(address):
            raise Forbidden(NOT_PUBLIC, f"{target.host} is {address}, which nobody may allow")
        if (address, target.port) in own:
            raise Forbidden(OURS, f"{target.host}:{target.port} is {address}")
        if permit.port is None and (address.is_loopback or is_of_this_machine(address)):
            raise Forbidden(OURS, f"{target.host} is this machine: allowed only with a port")

    def _meets(self, own: HostPort, target: Target) -> bool:
        """Our own name is ours on every port, unless an admin allowed another one."""
        return self.permit(target) is None or own.port in (None, target.port)


def is_of_this_machine(address: Address) -> bool:
    """Whether an interface of this machine has this address; asks the routing table, sends nothing."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return probe.getsockname()[0].partition("%")[0] == str(address)
    except OSError:  # no route to it: then it is not ours
        return False
