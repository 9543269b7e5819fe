"""Serving inside our own loop: sockets bound, inherited, refused."""

import asyncio
import os

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from chassis import http
from chassis.errors import Misconfigured


def application(gate, arrived=None):
    async def slow(_request):
        if arrived is not None:
            arrived.set()
        await gate.wait()
        return PlainTextResponse("done")

    async def stream(_request):
        async def endless():
            yield b"first"
            await asyncio.Event().wait()

        return StreamingResponse(endless())

    return Starlette(routes=[Route("/slow", slow), Route("/stream", stream)])


def test_a_taken_port_is_one_sentence():
    with http.bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Misconfigured, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use"):
            http.bind("127.0.0.1", port)


def test_a_descriptor_that_is_no_socket_is_one_sentence(tmp_path):
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(Misconfigured, match=f"RETINUE_LISTEN_FD={fd} is not a socket"):
            http.inherited(fd)
    finally:
        os.close(fd)


async def test_two_servers_share_an_inherited_socket_and_one_may_leave():
    gate = asyncio.Event()
    gate.set()
    listener = http.bind("127.0.0.1", 0)
    listener.listen()
    old = http.HttpServer(application(gate), http.inherited(os.dup(listener.fileno())))
    new = http.HttpServer(application(gate), http.inherited(os.dup(listener.fileno())))
    await old.start()
    await new.start()
    await old.stop(1)
    async with httpx.AsyncClient() as client:
        for _ in range(5):
            assert (await client.get(f"http://127.0.0.1:{new.port}/slow")).text == "done"
    await new.stop(1)
    listener.close()


async def test_stop_lets_a_request_finish_and_cuts_an_endless_stream():
    gate, arrived = asyncio.Event(), asyncio.Event()
    server = http.HttpServer(application(gate, arrived), http.bind("127.0.0.1", 0))
    await server.start()
    base = f"http://127.0.0.1:{server.port}"
    async with httpx.AsyncClient(timeout=10) as client:
        async with client.stream("GET", f"{base}/stream") as streaming:
            body = streaming.aiter_raw()
            assert await anext(body) == b"first"
            slow = asyncio.create_task(client.get(f"{base}/slow"))
            await arrived.wait()
            stopping = asyncio.create_task(server.stop(1))
            await nobody_is_let_in(server.port)
            gate.set()
            assert (await slow).text == "done"
            with pytest.raises(httpx.RemoteProtocolError):
                await anext(body)
            await stopping


async def nobody_is_let_in(port):
    """Until the server has stopped listening."""
    async with asyncio.timeout(5):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                return
            writer.close()
            await asyncio.sleep(0.01)


class Connection:
    """A keep-alive connection, spoken by hand."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, port):
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    def say(self, data):
        self.writer.write(data)

    async def hear(self):
        """The head of the answer; its body is `done`."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert await self.reader.readexactly(4) == b"done"
        return head.lower()

    async def ended(self):
        return await self.reader.read() == b""


ASK = b"GET /slow HTTP/1.1\r\nHost: here\r\n\r\n"


async def test_who_has_come_before_a_stop_may_still_ask_once():
    """A fresh connection, one that was used before, and one whose request has begun to arrive."""
    gate = asyncio.Event()
    gate.set()
    server = http.HttpServer(application(gate), http.bind("127.0.0.1", 0))
    await server.start()
    fresh, used, half = [await Connection.to(server.port) for _ in range(3)]
    used.say(ASK)
    assert b"connection: close" not in await used.hear()
    half.say(ASK[:20])
    stopping = asyncio.create_task(server.stop(30, linger=1))
    await asyncio.sleep(0.3)
    fresh.say(ASK)
    used.say(ASK)
    for connection in (fresh, used):
        assert b"connection: close" in await connection.hear()
        assert await connection.ended()
    await asyncio.sleep(1)
    half.say(ASK[20:])
    assert b"connection: close" in await half.hear()
    assert await half.ended()
    async with asyncio.timeout(5):
        await stopping


async def test_nobody_who_says_nothing_holds_up_a_stop():
    server = http.HttpServer(application(asyncio.Event()), http.bind("127.0.0.1", 0))
    await server.start()
    silent = await Connection.to(server.port)
    async with asyncio.timeout(5):
        await server.stop(30, linger=0.5)
    assert await silent.ended()
