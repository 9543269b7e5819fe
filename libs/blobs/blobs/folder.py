"""Blobs in a folder: for one host, or for several that share it.

`incoming/` holds what has no name yet; `ab/abcdef…` what is kept. A blob gets its name by a rename, after its bytes
are on the disk, so that nobody ever sees a part of one. Files belong to the services' user alone.

No file stays open between two steps: a step that its caller no longer waits for goes on in its thread, and what it
has open is then nobody else's.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from blobs.store import PIECE, BlobMissing, BlobsFull, BlobStore, BlobTooLarge, Incoming, Stored, Threads

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class FolderBlobs(BlobStore):
    """Makes its folders when they are first needed. File work is done by `threads`."""

    def __init__(self, root: Path, threads: Threads) -> None:
        self._root = root
        self._threads = threads

    @asynccontextmanager
    async def incoming(self, *, most: int | None = None) -> AsyncGenerator[Incoming]:
        received = _Received(self._root, most)
        await self._threads.run(received.begin)
        try:
            yield _FolderIncoming(received, self._threads)
        finally:
            if not received.is_kept:
                await self._threads.run(received.drop)

    async def size(self, hash: bytes) -> int | None:
        return await self._threads.run(_size, _path(self._root, hash))

    async def read(self, hash: bytes, start: int = 0, length: int | None = None) -> AsyncGenerator[bytes]:
        path = _path(self._root, hash)
        while length is None or length > 0:
            piece = await self._threads.run(_piece, path, start, PIECE if length is None else min(PIECE, length))
            if not piece:
                return
            start += len(piece)
            length = None if length is None else length - len(piece)
            yield piece

    async def delete(self, hash: bytes) -> None:
        await self._threads.run(_delete, _path(self._root, hash))

    async def tidy(self, older_than: float) -> int:
        return await self._threads.run(_tidy, self._root / "incoming", older_than)


class _FolderIncoming(Incoming):
    """Hands each step to a thread."""

    def __init__(self, received: _Received, threads: Threads) -> None:
        self._received = received
        self._threads = threads

    async def write(self, piece: bytes | memoryview[Any]) -> None:
        await self._threads.run(self._received.write, piece)

    async def finish(self) -> Stored:
        return await self._threads.run(self._received.finish)

    async def keep(self) -> None:
        await self._threads.run(self._received.keep)


class _Received:
    """One file on its way in, as a thread sees it."""

    def __init__(self, root: Path, most: int | None) -> None:
        self.is_kept = False
        self._root = root
        self._most = most
        self._hash = hashlib.sha256()
        self._size = 0
        self._path = root / "incoming" / uuid4().hex

    def begin(self) -> None:
        with _room():
            _make_folder(self._path.parent)
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    def write(self, piece: bytes | memoryview[Any]) -> None:
        self._size += len(piece)
        if self._most is not None and self._size > self._most:
            raise BlobTooLarge(self._most)
        self._hash.update(piece)
        with _room(), _opened(self._path, os.O_WRONLY | os.O_APPEND) as descriptor:
            left = memoryview(piece)
            while left:
                left = left[os.write(descriptor, left) :]  # a disk that fills takes a part, and refuses the rest

    def finish(self) -> Stored:
        with _room(), _opened(self._path, os.O_WRONLY) as descriptor:
            os.fsync(descriptor)
        return Stored(self._hash.digest(), self._size)

    def keep(self) -> None:
        path = _path(self._root, self._hash.digest())
        if not path.exists():
            with _room():
                _make_folder(path.parent)
                self._path.rename(path)
                _sync_folder(path.parent)
            self.is_kept = True

    def drop(self) -> None:
        self._path.unlink(missing_ok=True)


def _path(root: Path, hash: bytes) -> Path:
    name = hash.hex()
    return root / name[:2] / name


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _piece(path: Path, start: int, length: int) -> bytes:
    try:
        with _opened(path, os.O_RDONLY) as descriptor:
            return os.pread(descriptor, length, start)
    except FileNotFoundError:
        raise BlobMissing(path.name) from None


def _delete(path: Path) -> None:
    path.unlink(missing_ok=True)


def _tidy(folder: Path, older_than: float) -> int:
    oldest = time.time() - older_than
    gone = 0
    for path in folder.iterdir() if folder.is_dir() else ():
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
                gone += 1
        except FileNotFoundError:
            continue  # its receiver, or another sweep, was faster
    return gone


def _make_folder(folder: Path) -> None:
    """And those above it that are missing, each closed to everybody else."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    with _opened(folder, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


@contextmanager
def _opened(path: Path, flags: int) -> Generator[int]:
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _room() -> Generator[None]:
    try:
        yield
    except OSError as wrong:
        if wrong.errno in _NO_ROOM:
            raise BlobsFull("the disk that holds the blobs is full") from wrong
        raise
