"""Sends the frames of a reply at their time, by timer callbacks on the raw transport: a task per token would cost ten
times as much, and the server is the load source of the benchmark."""

import asyncio
import socket
import struct
from collections.abc import Iterator

from cli.dev.model.frames import Break, Frame, Paced, Pause

BURST = 64  # frames that may be written without giving way
FULL = 256 * 1024  # bytes that may wait for a slow reader
FULL_PAUSE = 0.01  # seconds until a full transport is looked at again


class Player:
    """Plays one streamed reply. `finished` gives `finished`, `reset` or `cut`; a hang never ends by itself."""

    def __init__(self, transport: asyncio.Transport, frames: Iterator[Frame], rate: float, size: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._frames = frames
        self._interval = 1 / rate if rate else 0.0
        self._size = size
        self._due = self._loop.time()
        self._timer: asyncio.Handle | None = None
        self.finished: asyncio.Future[str] = self._loop.create_future()

    async def play(self) -> str:
        """Send all; cancelled when the client has gone."""
        try:
            self._tick()
            return await self.finished
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _tick(self) -> None:
        try:
            self._send()
        except Exception as error:  # noqa: BLE001 -- whatever a callback meets must reach whoever waits
            if not self.finished.done():
                self.finished.set_exception(error)

    def _send(self) -> None:
        for _ in range(BURST):
            if self._transport.is_closing():
                return  # the handler's cancellation follows
            if self._transport.get_write_buffer_size() > FULL:
                return self._at(self._loop.time() + FULL_PAUSE)
            frame = next(self._frames, None)
            if frame is None:
                return self.finished.set_result("finished")
            if isinstance(frame, Break):
                return self._break(frame)
            if isinstance(frame, Pause):
                self._due = self._loop.time() + frame.seconds
                return self._at(self._due)
            self._write(frame)
            if self._interval and type(frame) is Paced:
                self._due += self._interval
                if self._due > self._loop.time():
                    return self._at(self._due)
        self._timer = self._loop.call_soon(self._tick)

    def _at(self, when: float) -> None:
        self._timer = self._loop.call_at(when, self._tick)

    def _write(self, frame: bytes) -> None:
        if not self._size:
            self._transport.write(b"%x\r\n%b\r\n" % (len(frame), frame))
            return
        for at in range(0, len(frame), self._size):
            piece = frame[at : at + self._size]
            self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def _break(self, broken: Break) -> None:
        if broken.kind == "hang":
            return
        if broken.kind == "reset":
            reset(self._transport)
        self.finished.set_result(broken.kind)


def reset(transport: asyncio.Transport) -> None:
    """Close with a TCP reset instead of an orderly end."""
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
