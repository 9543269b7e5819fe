"""Which port each process listens on: kept from start to start, moved only when somebody else has it."""

import errno
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

from cli.up.private_files import read_json, write_private_json
from cli.up.refusal import Refused

DEFAULT_PUBLIC_PORT = 8700
# Below the range that kernels hand out to outgoing connections, so that none of those takes a server's port
# while the server restarts.
INTERNAL_PORTS = range(20000, 32000)
BACKLOG = 2048


class Ports:
    """The ports of one stack, by name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, int] = read_json(path) or {}
        self._claimed: dict[str, int] = {}
        self.moved: list[str] = []

    @classmethod
    def as_kept(cls, path: Path) -> "Ports":
        """The ports as last written down, taken as they are: for those who only want to connect."""
        ports = cls(path)
        ports._claimed = dict(ports._kept)
        return ports

    def __getitem__(self, name: str) -> int:
        return self._claimed[name]

    def claim(self, name: str) -> int:
        """A free loopback port for this name: the one it had, else a new one."""
        kept = self._kept.get(name)
        if kept is not None and kept not in self._claimed.values() and is_free("127.0.0.1", kept):
            return self._settle(name, kept)
        port = next(port for port in _candidates() if port not in self._taken() and is_free("127.0.0.1", port))
        return self._settle(name, port)

    def open_public(self, host: str, asked: int | None) -> socket.socket:
        """The listening socket of the one public port.

        A port that was asked for is taken or refused; 0 asks for any. Without one the kept port or the default is
        tried first and the ones above it after it.
        """
        kept = self._kept.get("public")
        if asked:
            listener = self._listen_or_refuse(host, asked)
            self._kept.pop("public", None)
        else:
            first = kept or DEFAULT_PUBLIC_PORT
            tried = [*([kept] if kept else []), 0] if asked == 0 else [*range(first, min(first + 200, 65536)), 0]
            listener = next(listener for port in tried if (listener := _listen(host, port)))
        self._settle("public", listener.getsockname()[1])
        return listener

    def save(self) -> None:
        # A name that is not used today keeps its port for the day it is.
        write_private_json(self._path, self._kept | self._claimed)

    def _listen_or_refuse(self, host: str, port: int) -> socket.socket:
        listener = _listen(host, port)
        if listener is None:
            raise Refused(
                f"Port {port} on {host} is taken by another process: "
                f"end that process, ask for another port with RETINUE_PORT, or leave it out to get a free one."
            )
        return listener

    def _settle(self, name: str, port: int) -> int:
        if name in self._kept and self._kept[name] != port:
            self.moved.append(f"{name} moved from port {self._kept[name]}, which is taken, to {port}")
        self._claimed[name] = port
        return port

    def _taken(self) -> set[int]:
        return {*self._kept.values(), *self._claimed.values()}


def is_free(host: str, port: int) -> bool:
    listener = _listen(host, port)
    if listener is None:
        return False
    listener.close()
    return True


def _candidates() -> Iterator[int]:
    start = secrets.randbelow(len(INTERNAL_PORTS))  # two stacks that start at once should not collide
    for step in range(len(INTERNAL_PORTS)):
        yield INTERNAL_PORTS[(start + step) % len(INTERNAL_PORTS)]


def _listen(host: str, port: int) -> socket.socket | None:
    """A listening socket, None if the port is taken; Refused if the host is not ours or the port not allowed."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise Refused(f"RETINUE_HOST {host!r} is not an address of this machine ({error.strerror}).") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise Refused(f"Port {port} on {host} cannot be opened: {error.strerror}.") from error
    return listener
