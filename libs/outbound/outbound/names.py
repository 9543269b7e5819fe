"""Looks names up. Threads of its own, so that a name server that says nothing holds up nobody else's look-ups."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from outbound.errors import Failed
from outbound.ranges import Address
from outbound.target import address_of


class Names(Protocol):
    """Whoever knows the addresses of a name."""

    async def look_up(self, host: str, port: int) -> Sequence[Address]:
        """Every address, in the order of preference; never empty. Raises `Failed` with `unknown_name`."""
        ...

    async def aclose(self) -> None: ...


class SystemNames:
    """The system's resolver."""

    def __init__(self, threads: int = 8) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="outbound-names")

    async def look_up(self, host: str, port: int) -> Sequence[Address]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._threads, _addresses, host, port)
        except (OSError, UnicodeError) as unknown:
            raise Failed("unknown_name", f"There is no server of the name {host}.", str(unknown)) from unknown
        if not found:
            raise Failed("unknown_name", f"There is no server of the name {host}.")
        return found

    async def aclose(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _addresses(host: str, port: int) -> list[Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(address_of(str(entry[4][0])) for entry in found))
