"""Blobs, by reference: what was too large to be shown, as a file.

Whatever a file holds, it is never a page of ours: it is saved, not opened, and a browser that opens it all the same
runs nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import Header
from starlette.responses import Response, StreamingResponse

from blobs import BlobStore
from chassis.errors import Refused
from gateway.answers import ErrorBody, missing
from gateway.http import Routes
from gateway.parts import CallerOf, PartsOf
from store.repositories import blobs as references
from store.repositories.blobs import BlobRef

routes = Routes("blobs")

SAFE = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-store",
    "Accept-Ranges": "bytes",
}

_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})|bytes=-(\d{1,18})")
_FILE = {"schema": {"type": "string", "format": "binary"}}


@routes.get(
    "/api/blobs/{reference_id}",
    scope="read",
    errors=(404,),
    response_class=Response,
    responses={
        200: {"description": "The file.", "content": {"application/octet-stream": _FILE}},
        206: {"description": "The part that `Range` asked for.", "content": {"application/octet-stream": _FILE}},
        416: {"model": ErrorBody, "description": "The range is beyond the end of the file."},
    },
)
async def get_blob(
    reference_id: UUID,
    caller: CallerOf,
    parts: PartsOf,
    range: Annotated[str | None, Header(max_length=200, description="One range of bytes; several give all.")] = None,
) -> Response:
    """The file behind a reference of yours, to be saved. Takes one `Range`."""
    async with parts.store.session(caller.user_id) as session:
        ref = await references.get(session, reference_id)
    if ref is None or await parts.blobs.size(ref.hash) is None:
        raise missing("file")
    start, length, is_part = _wanted(range, ref.size)
    headers = SAFE | {"Content-Disposition": _disposition(ref.name), "Content-Length": str(length)}
    if is_part:
        headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{ref.size}"
    return StreamingResponse(
        _read(parts.blobs, ref, start, length), 206 if is_part else 200, headers, media_type=ref.media_type
    )


async def _read(blobs: BlobStore, ref: BlobRef, start: int, length: int) -> AsyncIterator[bytes]:
    async for piece in blobs.read(ref.hash, start, length):
        yield piece


def _wanted(asked: str | None, size: int) -> tuple[int, int, bool]:
    """Where to begin, how many bytes, and whether that is a part. What is not understood asks for everything."""
    found = _RANGE.fullmatch(asked.replace(" ", "")) if asked else None
    if found is None:
        return 0, size, False
    first, last, suffix = found.groups()
    if suffix is not None:
        start, end = max(0, size - int(suffix)), size
    else:
        start, end = int(first), min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return 0, size, False
    if start >= end:
        message = f"The range is beyond the end of the file, which has {size:,} bytes."
        raise Refused(416, "range_not_satisfiable", message, headers={"Content-Range": f"bytes */{size}"}, size=size)
    return start, end - start, True


def _disposition(name: str) -> str:
    """Saved under its own name, as far as that is harmless."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name).lstrip(".")[:100] or "file"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name[:200], safe='')}"
