"""An ASGI application served inside a service's own loop, by uvicorn without its signal handlers.

The socket is bound (or inherited) here, so that a taken port is our error, not uvicorn's `sys.exit`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator
from typing import cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from chassis.errors import Misconfigured

TRANSPORT = "retinue.transport"
"""Name of the ASGI extension under which a request finds its transport, so that a stream can break, not just end."""


class _Protocol(HttpToolsProtocol):
    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT: self.transport}  # pyright: ignore[reportGeneralTypeIssues]


class _QuietServer(uvicorn.Server):
    """uvicorn's server, leaving signals to `service.run`."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class HttpServer:
    """Serves `app` on `listener` until `stop`. Connections are upgraded and parsed by httptools."""

    def __init__(self, app: ASGIApp, listener: socket.socket, *, keep_alive: int = 75, backlog: int = 2048) -> None:
        self.listener = listener
        self.port: int = listener.getsockname()[1]
        config = uvicorn.Config(
            app,
            http=_Protocol,
            loop="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=keep_alive,
            backlog=backlog,
        )
        self._server = _QuietServer(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to accept; returns when the listener is in the loop."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self.listener]), name=f"http-{self.port}")
        while not self._server.started:
            if self._task.done():
                self._task.result()
                raise RuntimeError("the HTTP server ended before it started")
            await asyncio.sleep(0.005)

    async def wait(self) -> None:
        """Until the server has ended; raises what ended it."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def stop(self, grace: float) -> None:
        """Stop accepting at once, let requests finish for `grace` seconds, then cancel them."""
        if self._task is None:
            self.listener.close()
            return
        # uvicorn hands this to `wait_for`, so fractions work; exactly 0 would call even an idle server late.
        self._server.config.timeout_graceful_shutdown = cast("int", max(grace, 0.05))
        self._server.should_exit = True
        await self._task


def bind(host: str, port: int) -> socket.socket:
    """A bound TCP socket (port 0: any free one). Raises `Misconfigured` in one sentence when it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as wrong:
        listener.close()
        raise Misconfigured(f"cannot listen on {host} port {port}: {wrong.strerror}") from None
    listener.setblocking(False)
    return listener


def inherited(fd: int) -> socket.socket:
    """The listening socket that the supervisor passed as file descriptor `fd`. Raises `Misconfigured`."""
    try:
        listener = socket.socket(fileno=fd)
    except OSError as wrong:
        raise Misconfigured(f"RETINUE_LISTEN_FD={fd} is not a socket: {wrong.strerror}") from None
    listener.setblocking(False)
    return listener
