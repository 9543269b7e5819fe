"""Reading a JSON body: bounded in size and time, strict in form, parsed once."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import orjson
from starlette.requests import Request
from starlette.types import Receive, Scope

from chassis.errors import Refused
from gateway.answers import invalid

_NUL = b"\\u0000"


class ReadRequest(Request):
    """A request whose body has been read and parsed already."""

    def __init__(self, scope: Scope, receive: Receive, body: bytes, parsed: Any) -> None:
        super().__init__(scope, receive)
        self._body = body
        self._json = parsed


async def read_json(request: Request, limit: int, timeout: float) -> ReadRequest:
    """The request with its body read. Raises `Refused`: 413 beyond `limit` bytes, 408 after `timeout` seconds,
    415 for other media than JSON, 400 for what is not JSON, 422 for text with null characters.
    """
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media and media != "application/json" and not media.endswith("+json"):
        raise Refused(415, "unsupported_media_type", "This address takes JSON (content-type: application/json).")
    body = await _read(request, limit, timeout)
    parsed = _parse(body) if body else None
    return ReadRequest(request.scope, request.receive, body, parsed)


async def _read(request: Request, limit: int, timeout: float) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    read = bytearray()
    try:
        async with asyncio.timeout(timeout):
            async for chunk in request.stream():
                read += chunk
                if len(read) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        message = f"The body of the request did not arrive within {timeout:g} s."
        raise Refused(408, "too_slow", message, headers={"Connection": "close"}) from None
    return bytes(read)


def _too_large(limit: int) -> Refused:
    # The connection stays: the server reads what is left and throws it away. Closed with data unread it would be reset,
    # and most clients, who write all of it before they read, would meet the reset instead of this answer.
    message = f"The body of the request is larger than {limit:,} bytes."
    return Refused(413, "too_large", message, limit=limit, unit="bytes")


def _parse(body: bytes) -> Any:
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError as wrong:
        raise Refused(400, "malformed_json", f"The body is not JSON: {wrong}.") from None
    # Postgres keeps no null characters in text. The cheap test spares the walk for nearly every body.
    if _NUL in body and _holds_nul(parsed):
        raise invalid("Text with null characters cannot be kept.")
    return parsed


def _holds_nul(parsed: Any) -> bool:
    left = [parsed]
    while left:
        value = left.pop()
        if isinstance(value, str):
            if "\0" in value:
                return True
        elif isinstance(value, list):
            left.extend(cast("list[Any]", value))
        elif isinstance(value, dict):
            entries = cast("dict[str, Any]", value)
            left.extend(entries)
            left.extend(entries.values())
    return False
