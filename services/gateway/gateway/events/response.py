"""A listener's answer, which goes on until its stream ends or its client goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.events.listener import Listener
from gateway.events.notes import HEADERS
from gateway.streams.response import AsgiSocket


class EventStream(Response):
    """The stream of one listener. `on_end` is called once, however it ends."""

    def __init__(self, listener: Listener, on_end: Callable[[Listener], None]) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._listener = listener
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listener = self._listener
        goodbye = asyncio.create_task(_until_gone(receive, listener), name=f"goodbye-{listener.user_id}")
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await listener.run(AsgiSocket(scope, send))
            if not listener.is_gone:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            goodbye.cancel()
            self._on_end(listener)


async def _until_gone(receive: Receive, listener: Listener) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue  # the rest of a request body that nobody wants
    listener.leave()
