"""The folder backend: whole or not at all, the same bytes once, a full disk said."""

import asyncio
import hashlib
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from blobs import BlobMissing, BlobTooLarge, FolderBlobs, Stored


class Threads:
    """A pool of two, as `chassis.pools` has them."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2)

    async def run(self, function: Callable, *args: object, **kwargs: object):
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: function(*args, **kwargs))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def blobs(root: Path) -> FolderBlobs:
    return FolderBlobs(root, Threads())


async def put(blobs: FolderBlobs, *pieces: bytes, most: int | None = None) -> Stored:
    async with blobs.incoming(most=most) as incoming:
        for piece in pieces:
            await incoming.write(piece)
        stored = await incoming.finish()
        await incoming.keep()
    return stored


async def whole(blobs: FolderBlobs, hash: bytes, *part: int) -> bytes:
    return b"".join([piece async for piece in blobs.read(hash, *part)])


def modes(root: Path) -> set[tuple[str, int]]:
    return {("folder" if path.is_dir() else "file", path.stat().st_mode & 0o777) for path in (root, *root.rglob("*"))}


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


async def test_what_is_put_is_read_again_under_its_hash(blobs: FolderBlobs, root: Path) -> None:
    stored = await put(blobs, b"one ", memoryview(b"two "), b"", b"three")
    assert stored == Stored(hashlib.sha256(b"one two three").digest(), 13)
    assert await blobs.size(stored.hash) == 13
    assert await whole(blobs, stored.hash) == b"one two three"
    assert files(root) == [f"{stored.hash.hex()[:2]}/{stored.hash.hex()}"]


async def test_nobody_else_on_the_machine_reads_along(blobs: FolderBlobs, root: Path) -> None:
    await put(blobs, b"x")
    assert modes(root) == {("folder", 0o700), ("file", 0o600)}


async def test_parts_of_a_large_one_are_read_in_pieces(blobs: FolderBlobs) -> None:
    content = os.urandom(1_000_003)
    stored = await put(blobs, content)
    pieces = [piece async for piece in blobs.read(stored.hash)]
    assert len(pieces) > 3
    assert b"".join(pieces) == content
    assert await whole(blobs, stored.hash, 700_000, 10) == content[700_000:700_010]
    assert await whole(blobs, stored.hash, 999_999, 400_000) == content[999_999:]
    assert await whole(blobs, stored.hash, 5, 0) == b""


async def test_nothing_is_seen_before_it_is_kept(blobs: FolderBlobs, root: Path) -> None:
    async with blobs.incoming() as incoming:
        await incoming.write(b"half")
        stored = await incoming.finish()
        assert await blobs.size(stored.hash) is None
        assert files(root)[0].startswith("incoming/")
    assert files(root) == []
    with pytest.raises(BlobMissing):
        await whole(blobs, stored.hash)


async def test_the_same_bytes_are_one_blob(blobs: FolderBlobs, root: Path) -> None:
    first, second = await asyncio.gather(put(blobs, b"same"), put(blobs, b"sa", b"me"))
    assert first == second
    assert len(files(root)) == 1


async def test_an_empty_blob_is_one(blobs: FolderBlobs) -> None:
    stored = await put(blobs)
    assert await blobs.size(stored.hash) == 0
    assert await whole(blobs, stored.hash) == b""


async def test_more_than_the_limit_is_refused_and_leaves_nothing(blobs: FolderBlobs, root: Path) -> None:
    with pytest.raises(BlobTooLarge, match="more than 10 bytes"):
        await put(blobs, b"123456", b"789012", most=10)
    assert files(root) == []
    await put(blobs, b"123456", b"7890", most=10)


async def test_what_is_deleted_is_gone_and_may_be_deleted_again(blobs: FolderBlobs) -> None:
    stored = await put(blobs, b"x")
    await blobs.delete(stored.hash)
    await blobs.delete(stored.hash)
    assert await blobs.size(stored.hash) is None
    assert await put(blobs, b"x") == stored
    assert await whole(blobs, stored.hash) == b"x"


async def test_what_a_dead_process_left_is_tidied_away_when_it_is_old(blobs: FolderBlobs, root: Path) -> None:
    await put(blobs, b"kept")
    old, young = (root / "incoming" / name for name in ("old", "young"))
    for left in (old, young):
        left.write_bytes(b"left")
    os.utime(old, (time.time() - 100, time.time() - 100))
    assert await blobs.tidy(50) == 1
    assert not old.exists()
    assert young.exists()
    assert len(files(root)) == 2


async def test_a_cancelled_receiver_leaves_nothing(blobs: FolderBlobs, root: Path) -> None:
    begun = asyncio.Event()

    async def receive() -> None:
        async with blobs.incoming() as incoming:
            await incoming.write(b"x")
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(receive())
    await begun.wait()
    task.cancel()
    await asyncio.wait({task})
    assert files(root) == []


FILLING = """
import asyncio, resource, signal, sys
from pathlib import Path
sys.path.insert(0, {here!r})
from test_folder import Threads, files, put
from blobs import BlobsFull, FolderBlobs

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # to a file, what a full disk is
root = Path({root!r})

async def main():
    blobs = FolderBlobs(root, Threads())
    try:
        await put(blobs, b"x" * 60_000, b"y" * 60_000)
    except BlobsFull as full:
        print(full, files(root))
    print((await put(blobs, b"z" * 50_000)).size)

asyncio.run(main())
"""


async def test_a_full_disk_is_said_and_leaves_nothing(root: Path) -> None:
    """In a process of its own, whose files may not grow beyond a limit: the kernel refuses as a full disk does."""
    script = FILLING.format(here=str(Path(__file__).parent), root=str(root))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    said, wrong = await process.communicate()
    assert said.decode().splitlines() == ["the disk that holds the blobs is full []", "50000"], wrong.decode()
