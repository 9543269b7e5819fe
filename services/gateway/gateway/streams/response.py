"""A viewer's socket: an ASGI response that writes what is queued, and breaks instead of ending where it must.

Starlette's StreamingResponse costs an anyio task group and an async generator for each stream, and cannot break a
connection. Here one task watches for the client's goodbye and the request's own task writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from chassis import logs
from chassis.http import reset
from contracts.chunks import STREAM_HEADERS
from gateway.streams.viewer import Broken, Viewer

_PIECE = 64 * 1024
_LITTLE = 32 * 1024
"""Bytes that the transport may still hold for more to be given to it without waiting; it says stop at twice as much."""

_GOODBYE = 1.0  # seconds for an aborted connection to be reported as gone

log = logs.get(__name__)


class AsgiSocket:
    """Where an open answer writes, whatever it streams."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        extensions: Mapping[str, Any] = scope.get("extensions") or {}
        self._transport: Any = extensions.get("retinue.transport")
        self._task = asyncio.current_task()

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            piece = data if len(data) <= _PIECE else data[start : start + _PIECE]
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    def send_now(self, data: bytes) -> bool:
        # Past ASGI, which costs as much per piece as all the rest: a piece of a chunked body, as uvicorn frames it.
        transport = self._transport
        if transport is None or transport.is_closing() or transport.get_write_buffer_size() > _LITTLE:
            return False
        transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def unsent(self) -> int:
        return -1 if self._transport is None else self._transport.get_write_buffer_size()

    def abort(self) -> None:
        if self._transport is not None:
            reset(self._transport)
        elif self._task is not None:
            self._task.cancel()  # a server that gives us no transport closes it when the application fails


class TurnStream(Response):
    """The stream of one viewer. `on_end` is called once, however it ends."""

    def __init__(self, viewer: Viewer, on_end: Callable[[Viewer], None], headers: Mapping[str, str]) -> None:
        super().__init__(headers={**STREAM_HEADERS, **headers})
        del self.headers["content-length"]
        self._viewer = viewer
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        viewer = self._viewer
        goodbye = asyncio.create_task(_until_gone(receive, viewer), name=f"goodbye-{viewer.turn_id}")
        answer = AsgiSocket(scope, send)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await viewer.run(answer)
            if not viewer.is_gone:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except Broken as why:
            log.info("reset a stream", turn=str(viewer.turn_id), reason=str(why))
            answer.abort()
            await asyncio.wait({goodbye}, timeout=_GOODBYE)
        finally:
            goodbye.cancel()
            self._on_end(viewer)


async def _until_gone(receive: Receive, viewer: Viewer) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue  # the rest of a request body that nobody wants
    viewer.leave()
