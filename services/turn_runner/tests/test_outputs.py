"""Outputs beyond the limit: cut within it, at a whole character; the whole is kept, or it is said why not."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from blobs import FolderBlobs
from chassis.pools import Pool
from store import StoreAway
from turn_runner.outputs import Outputs


class Wanted:
    """Where the database would be: remembers what was wanted, and may be away."""

    def __init__(self, blobs: Path) -> None:
        self.hashes: list[bytes] = []
        self.seen: list[list[str]] = []
        self.away = 0
        self.waits = asyncio.Event()
        self._blobs = blobs

    @asynccontextmanager
    async def system(self) -> AsyncIterator[Wanted]:
        if self.away:
            self.away -= 1
            raise StoreAway("away")
        yield self

    async def execute(self, _: object, parameters: dict[str, Any]) -> None:
        self.hashes.append(parameters["hash"])
        self.seen.append(files(self._blobs))

    async def next_beat(self) -> None:
        """The lease's."""
        self.waits.set()
        await asyncio.sleep(0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def no_folder(root: Path) -> None:
    """A file is where the folder should be."""
    root.touch()


@pytest.fixture
def wanted(root: Path) -> Wanted:
    return Wanted(root)


@pytest.fixture
async def threads() -> AsyncIterator[Pool]:
    pool = Pool("outputs-of-test", size=2, queue_limit=64)
    yield pool
    await pool.close()


def outputs_of(root: Path, threads: Pool, wanted: Wanted, most: int = 1024, most_blob: int = 1 << 20) -> Outputs:
    store: Any = wanted
    return Outputs(FolderBlobs(root, threads), threads, store, store, most_bytes=most, most_blob_bytes=most_blob)


@pytest.fixture
def outputs(root: Path, threads: Pool, wanted: Wanted) -> Outputs:
    return outputs_of(root, threads, wanted)


def files(root: Path) -> list[str]:
    return sorted(path.parent.name for path in root.rglob("*") if path.is_file())


def kept(root: Path, hash: bytes) -> bytes:
    return (root / hash.hex()[:2] / hash.hex()).read_bytes()


@pytest.mark.parametrize("piece", ["x", "ä", '"', "\\", "\n", "😀", '"a', "\x01"], ids=ascii)
@pytest.mark.parametrize("most", [1024, 4096])
@pytest.mark.parametrize("is_text", [True, False], ids=["text", "json"])
async def test_what_is_shown_is_within_the_limit_and_the_whole_is_kept(
    root: Path, threads: Pool, wanted: Wanted, piece: str, most: int, is_text: bool
) -> None:
    output: Any = piece * 5000 if is_text else {"rows": [piece * 50] * 100}
    content = output.encode() if is_text else orjson.dumps(output)
    result = await outputs_of(root, threads, wanted, most).bounded("probe", output)
    assert most / 2 < len(orjson.dumps(result.output)) <= most
    assert result.blob is not None
    text, left_out = result.output["text"], result.output["left_out"]
    assert content.decode().startswith(text)
    assert left_out == {
        "bytes": len(content) - len(text.encode()),
        "of": len(content),
        "media_type": "text/plain; charset=utf-8" if is_text else "application/json",
        "blob": str(result.blob.id),
    }
    assert result.blob.size == len(content)
    assert result.blob.name == ("probe-output.txt" if is_text else "probe-output.json")
    assert result.blob.hash == hashlib.sha256(content).digest()
    assert kept(root, result.blob.hash) == content
    assert orjson.loads(result.for_model) == result.output


@pytest.mark.parametrize("output", ["x" * 1022, "ä" * 511, {"a": "x" * 1016}], ids=["text", "two bytes each", "json"])
async def test_what_just_fits_passes_unchanged(outputs: Outputs, root: Path, output: Any) -> None:
    assert len(orjson.dumps(output)) == 1024
    result = await outputs.bounded("probe", output)
    assert (result.output, result.blob) == (output, None)
    longer = output + "x" if isinstance(output, str) else {"a": output["a"] + "x"}
    assert (await outputs.bounded("probe", longer)).blob is not None


async def test_bytes_get_their_name_only_after_they_were_wanted(outputs: Outputs, wanted: Wanted, root: Path) -> None:
    result = await outputs.bounded("probe", "x" * 5000)
    assert result.blob is not None
    assert wanted.hashes == [result.blob.hash]
    assert wanted.seen == [["incoming"]]
    assert files(root) == [result.blob.hash.hex()[:2]]


async def test_a_database_that_is_away_is_waited_for(outputs: Outputs, wanted: Wanted) -> None:
    wanted.away = 3
    assert (await outputs.bounded("probe", "x" * 5000)).blob is not None
    assert wanted.away == 0


@pytest.mark.parametrize("output", ["x" * 3000, {"a": "x" * 3000}], ids=["text", "json"])
async def test_more_than_can_be_kept_is_an_error_that_says_so(
    root: Path, threads: Pool, wanted: Wanted, output: Any
) -> None:
    result = await outputs_of(root, threads, wanted, most_blob=2000).bounded("probe", output)
    assert result.output is None
    assert "probe ran, but its output of 3,0" in (result.error_text or "")
    assert "more than the 2,000 that can be kept" in (result.error_text or "")
    assert files(root) == []


async def test_where_nothing_can_be_kept_the_beginning_is_shown_and_the_rest_is_said_to_be_lost(
    no_folder: None, outputs: Outputs
) -> None:
    result = await outputs.bounded("probe", "x" * 5000)
    assert result.blob is None
    assert result.error_text is None
    assert result.output["text"].startswith("xxx")
    assert result.output["left_out"]["blob"] is None
    assert result.output["left_out"]["why"] == "The rest could not be kept."


async def test_a_turn_that_is_stopped_meanwhile_leaves_nothing(outputs: Outputs, wanted: Wanted, root: Path) -> None:
    wanted.away = 10**9
    task = asyncio.create_task(outputs.bounded("probe", "x" * 5000))
    await wanted.waits.wait()
    assert files(root) == ["incoming"]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert files(root) == []


async def test_forty_megabytes_are_no_pause_for_the_others(threads: Pool, wanted: Wanted, root: Path) -> None:
    outputs = outputs_of(root, threads, wanted, most=256 * 1024, most_blob=100 << 20)
    whole = os.urandom(20_000_000).hex()
    longest = 0.0
    task = asyncio.create_task(outputs.bounded("probe", whole))
    loop = asyncio.get_running_loop()
    while not task.done():
        begun = loop.time()
        await asyncio.sleep(0.001)
        longest = max(longest, loop.time() - begun)
    result = task.result()
    assert result.blob is not None
    assert result.blob.size == 40_000_000
    assert len(orjson.dumps(result.output)) <= 256 * 1024
    assert longest < 0.5  # JetStream's object store held a loop for 6 s; a busy machine alone costs some
