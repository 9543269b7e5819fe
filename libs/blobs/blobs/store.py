"""The interface of a blob store, whatever keeps the bytes.

Keeping has two halves, so that a sweep of unreferenced blobs can never take away what is just coming in: bytes are
received under no name, their hash is told to the database (`store.system.blobs.want`), and only then are they kept.

    async with blobs.incoming(most=limit) as incoming:
        async for piece in pieces:
            await incoming.write(piece)
        stored = await incoming.finish()
        ... want(stored) ...
        await incoming.keep()

A backend for S3-compatible storage is one more file beside `folder.py` (a multipart upload under a name of its own,
a copy to the hash). It is not written yet: it would have to be tested against a real server of that kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

PIECE = 256 * 1024
"""Bytes of one piece when a blob is read."""


class BlobMissing(Exception):
    """There is no such blob."""


class BlobTooLarge(Exception):
    """More bytes than the limit that the receiver set."""

    def __init__(self, most: int) -> None:
        super().__init__(f"a blob of more than {most} bytes")
        self.most = most


class BlobsFull(Exception):
    """The place where blobs are kept has no room left; nothing of what was coming in is there."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What bytes are known by: SHA-256, and how many there are."""

    hash: bytes
    size: int


class Threads(Protocol):
    """Where file work is done, so that it never holds the event loop; `chassis.pools.Pool` is one."""

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...


class Incoming(ABC):
    """Bytes that are being received. What is not kept when its block ends is gone."""

    @abstractmethod
    async def write(self, piece: bytes | memoryview[Any]) -> None:
        """Raises `BlobTooLarge` and `BlobsFull`."""

    @abstractmethod
    async def finish(self) -> Stored:
        """No more bytes come; they are safe on the disk, and under no name yet."""

    @abstractmethod
    async def keep(self) -> None:
        """Visible under its hash from now on, whole; a blob that is there already is left as it is."""


class BlobStore(ABC):
    """Content-addressed: the same bytes are one blob."""

    @abstractmethod
    def incoming(self, *, most: int | None = None) -> AbstractAsyncContextManager[Incoming]:
        """Receives at most `most` bytes."""

    @abstractmethod
    async def size(self, hash: bytes) -> int | None:
        """Bytes of a blob; None if it is not there."""

    @abstractmethod
    def read(self, hash: bytes, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        """`length` bytes from `start` in pieces, to the end without one. Raises `BlobMissing`."""

    @abstractmethod
    async def delete(self, hash: bytes) -> None:
        """Gone, if it was there."""

    @abstractmethod
    async def tidy(self, older_than: float) -> int:
        """Takes away what was received and neither kept nor dropped (a process died), if older than so many seconds.

        Returns how many.
        """
