"""An ASGI application served inside a service's own loop, by uvicorn without its signal handlers.

The socket is bound (or inherited) here, so that a taken port is our error, not uvicorn's `sys.exit`.

A server that stops refuses nobody who has come: uvicorn closes connections without a request at once, also those whose
first request is on its way; here they may still ask once, and are told `connection: close`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Generator
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from chassis.errors import Misconfigured

TRANSPORT = "retinue.transport"
"""Name of the ASGI extension under which a request finds its transport, so that a stream can break, not just end."""


class _Config(uvicorn.Config):
    is_leaving = False
    linger = 0.0


class _Protocol(HttpToolsProtocol):
    _is_asking = False
    """A request has begun to arrive, and its headers are not complete yet."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._leaves:  # accepted in the instant in which the server was told to stop
            self.shutdown()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_asking = True
        self.scope["extensions"] = {TRANSPORT: self.transport}  # pyright: ignore[reportGeneralTypeIssues]

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._is_asking = False
        if self._leaves and not self._is_idle:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Called by the server when it stops."""
        if not self._is_idle:
            self.cycle.keep_alive = False
        elif self._linger:
            self.loop.call_later(self._linger, self._close_if_idle)
        else:
            self.transport.close()

    def _close_if_idle(self) -> None:
        if self.transport.is_closing() or not self._is_idle:
            return
        if self._is_asking:
            self.loop.call_later(self._linger, self._close_if_idle)
        else:
            self.transport.close()

    @property
    def _is_idle(self) -> bool:
        cycle = cast("Any", self.cycle)  # none before the first request, whatever its type says
        return cycle is None or cycle.response_complete

    @property
    def _leaves(self) -> bool:
        return cast("_Config", self.config).is_leaving

    @property
    def _linger(self) -> float:
        return cast("_Config", self.config).linger


_AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER: a close is a reset, and what was not sent is dropped."""


def reset(transport: asyncio.Transport) -> None:
    """Break a connection now. `abort` alone lets the system offer what it holds, and end with what reads as success."""
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()


class _QuietServer(uvicorn.Server):
    """uvicorn's server, leaving signals to `service.run`."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class HttpServer:
    """Serves `app` on `listener` until `stop`. Connections are upgraded and parsed by httptools.

    A peer that acknowledges nothing for `vanished` seconds (it lost its network, say, and could not say goodbye) is
    given up; 0 leaves that to the system, which takes a quarter of an hour. The system holds at most `unsent` bytes
    that a peer has no room for; 0 leaves that to it, too: megabytes for each peer that does not read.
    """

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        keep_alive: int = 75,
        backlog: int = 2048,
        vanished: float = 0.0,
        unsent: int = 0,
    ) -> None:
        self.listener = listener
        if vanished and hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; what is accepted inherits it
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(vanished * 1000))
        if unsent and hasattr(socket, "TCP_NOTSENT_LOWAT"):
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, unsent)
        self.port: int = listener.getsockname()[1]
        self._config = _Config(
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
        self._server = _QuietServer(self._config)
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

    async def stop(self, grace: float, linger: float = 0.0) -> None:
        """Stop accepting at once, let requests finish for `grace` seconds, then cancel them.

        An idle connection is closed after `linger` seconds; a request that comes meanwhile is answered.
        """
        if self._task is None:
            self.listener.close()
            return
        # uvicorn hands this to `wait_for`, so fractions work; exactly 0 would call even an idle server late.
        self._config.timeout_graceful_shutdown = cast("int", max(grace, 0.05))
        self._config.linger = min(linger, grace / 2)
        self._config.is_leaving = True
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
