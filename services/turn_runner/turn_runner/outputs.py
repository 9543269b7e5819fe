"""What comes of a tool, in a size that the wire, the prompt and a row can bear.

An output beyond the limit is cut; the whole of it becomes a blob, and what is shown says how much was left out and
where the whole is (docs/reference/blobs.md). The heavy part happens in threads, a piece at a time, so that forty
megabytes for one person are no pause for all others.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import orjson

from blobs import BlobsFull, BlobStore, BlobTooLarge, Stored
from chassis import logs, metrics
from chassis.pools import Pool
from contracts.ids import uuid7
from contracts.json_values import fault_of
from store import Store, StoreAway
from store.repositories.blobs import BlobRef
from store.system import blobs as wanted
from turn_runner.lease import Lease

log = logs.get(__name__)

_PIECE = 1 << 20
_FRAME_BYTES = 300
"""What says that an output was cut, and where the whole is."""

_CUT = metrics.counter(
    "retinue_tool_outputs_cut_total", "tool outputs beyond the limit, by what became of the whole", ("whole",)
)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call: an output, or the text of an error that the model can act on."""

    output: Any = None
    error_text: str | None = None
    was_malformed: bool = False
    blob: BlobRef | None = None
    """The whole output, where `output` is only its beginning; it is kept, and not yet referred to."""

    @property
    def for_model(self) -> str:
        if self.error_text is not None:
            return f"Error: {self.error_text}"
        return orjson.dumps(self.output).decode()


@dataclass(frozen=True, slots=True)
class _Whole:
    """An output that is too large to be shown."""

    content: bytes
    media_type: str
    beginning: str

    @property
    def left_out(self) -> int:
        return len(self.content) - len(self.beginning.encode())


class Outputs:
    """`most_bytes` of an output are shown, `most_blob_bytes` kept, `at_once` large ones held in memory."""

    def __init__(
        self,
        blobs: BlobStore,
        threads: Pool,
        store: Store,
        lease: Lease,
        *,
        most_bytes: int,
        most_blob_bytes: int,
        at_once: int = 2,
    ) -> None:
        self._blobs = blobs
        self._threads = threads
        self._store = store
        self._lease = lease
        self._most = most_bytes
        self._most_blob = most_blob_bytes
        self._large = asyncio.Semaphore(at_once)

    async def bounded(self, tool: str, output: Any) -> Result:
        """The output, or its beginning and a blob of the whole. ValueError if it cannot be kept and sent at all."""
        if output is None or isinstance(output, bool | int | float):
            whole = _look(output, self._most)
        else:
            whole = await self._threads.run(_look, output, self._most)
        if whole is None:
            return Result(output=output)
        async with self._large:
            return await self._cut(tool, whole)

    async def _cut(self, tool: str, whole: _Whole) -> Result:
        try:
            ref = await self._keep(tool, whole)
        except BlobTooLarge as too_large:
            _CUT.labels(whole="refused").inc()
            return Result(
                error_text=f"{tool} ran, but its output of {len(whole.content):,} bytes is more than the "
                f"{too_large.most:,} that can be kept, and was dropped. Ask for less of it."
            )
        except (BlobsFull, OSError) as wrong:
            log.error("a tool's output could not be kept", tool=tool, reason=f"{type(wrong).__name__}: {wrong}")
            _CUT.labels(whole="lost").inc()
            return Result(output=_shown(whole, None))
        _CUT.labels(whole="kept").inc()
        return Result(output=_shown(whole, ref), blob=ref)

    async def _keep(self, tool: str, whole: _Whole) -> BlobRef:
        if len(whole.content) > self._most_blob:
            raise BlobTooLarge(self._most_blob)
        async with self._blobs.incoming(most=self._most_blob) as incoming:
            content = memoryview(whole.content)
            for start in range(0, len(content), _PIECE):
                await incoming.write(content[start : start + _PIECE])
            stored = await incoming.finish()
            await self._want(stored)
            await incoming.keep()
        ending = "txt" if whole.media_type.startswith("text/") else "json"
        return BlobRef(uuid7(), stored.hash, stored.size, f"{tool}-output.{ending}", whole.media_type)

    async def _want(self, stored: Stored) -> None:
        """A database that is away is waited for, as for a commit."""
        while True:
            try:
                async with self._store.system() as session:
                    return await wanted.want(session, stored.hash, stored.size)
            except StoreAway as away:
                log.warning("a blob waits", reason=str(away))
                await self._lease.next_beat()


def _look(output: Any, most: int) -> _Whole | None:
    """None if the output fits as it is. Runs in a thread; ValueError if it is nothing that could be kept and sent."""
    if (fault := fault_of(output)) is not None:
        raise ValueError(f"a tool's output holds {fault}")
    if isinstance(output, str):
        if len(output) <= most and len(orjson.dumps(output)) <= most:
            return None
        content, media_type = output.encode(), "text/plain; charset=utf-8"
    else:
        content, media_type = orjson.dumps(output), "application/json"
        if len(content) <= most:
            return None
    return _Whole(content, media_type, _beginning(content, most - _FRAME_BYTES))


def _beginning(content: bytes, room: int) -> str:
    """As much of a text as takes `room` bytes as JSON, whole characters only."""
    kept = content[:room].decode(errors="ignore")
    while (size := len(orjson.dumps(kept))) > room:  # what JSON escapes counts twice and more
        kept = kept[: len(kept) * room // size]
    return kept


def _shown(whole: _Whole, ref: BlobRef | None) -> dict[str, Any]:
    left_out: dict[str, Any] = {"bytes": whole.left_out, "of": len(whole.content), "media_type": whole.media_type}
    if ref is None:
        left_out |= {"blob": None, "why": "The rest could not be kept."}
    else:
        left_out |= {"blob": str(ref.id)}
    return {"text": whole.beginning, "left_out": left_out}
