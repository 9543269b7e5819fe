"""Takes away blobs that nobody refers to any more, and what dead processes left half received."""

from __future__ import annotations

import asyncio

from blobs import BlobStore
from chassis import logs, metrics
from store import Store, StoreAway
from store.system import blobs as rows

log = logs.get(__name__)

BATCH = 50
"""Blobs of one transaction; their bytes are deleted within it."""

_SWEPT = metrics.counter("retinue_blobs_swept_total", "blobs deleted because nobody referred to them any more")


async def keep_sweeping(store: Store, blobs: BlobStore, *, every: float, older_than: float) -> None:
    """Sweeps until cancelled; a database that is away is asked again at the next pass."""
    while True:
        await asyncio.sleep(every)
        try:
            await sweep(store, blobs, older_than)
        except StoreAway as away:
            log.warning("blobs are not swept", reason=str(away))
        except Exception:
            log.exception("blobs are not swept")


async def sweep(store: Store, blobs: BlobStore, older_than: float) -> int:
    """Deletes what nobody has referred to or wanted for `older_than` seconds; returns how many."""
    swept = 0
    while True:
        dropped = await _sweep_batch(store, blobs, older_than)
        swept += dropped
        if dropped < BATCH:
            break
    left = await blobs.tidy(older_than)
    if swept or left:
        _SWEPT.inc(swept)
        log.info("blobs swept", blobs=swept, half_received=left)
    return swept


async def _sweep_batch(store: Store, blobs: BlobStore, older_than: float) -> int:
    """The bytes go before the rows do: who wants the same blob again waits for us, and then writes it anew."""
    async with store.system() as session:
        dropped = await rows.drop_unreferenced(session, older_than, BATCH)
        for hash in dropped:
            await blobs.delete(hash)
    return len(dropped)
