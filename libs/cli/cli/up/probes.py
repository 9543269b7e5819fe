"""Questions that only a ready process answers: an authenticated connection to a server, /readyz of a service.

Written on bare sockets, because the supervisor should start at once and stay small.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

PROBE_SECONDS = 2.0


async def nats_is_ready(port: int, user: str, password: str) -> bool:
    """Whether this user may connect and JetStream answers."""
    answer = await _ask_jetstream(port, user, password, "INFO")
    return answer is not None and "error" not in answer


async def nats_streams(port: int, user: str, password: str) -> list[str]:
    """The names of the streams there are (of the first 1024)."""
    answer = await _ask_jetstream(port, user, password, "STREAM.NAMES")
    return (answer or {}).get("streams") or []


async def _ask_jetstream(port: int, user: str, password: str, question: str) -> dict[str, Any] | None:
    """The answer of JetStream's own API; None if the login is refused."""
    login = {"verbose": False, "pedantic": False, "user": user, "pass": password, "lang": "retinue", "version": "1"}
    inbox = f"_INBOX.{user}.probe"
    async with _connected(port) as (reader, writer):
        await reader.readline()  # INFO
        writer.write(f"CONNECT {json.dumps(login)}\r\nSUB {inbox} 1\r\n".encode())
        writer.write(f"PUB $JS.API.{question} {inbox} 0\r\n\r\n".encode())
        while line := await reader.readline():
            verb = line.split(b" ", 1)[0].strip().upper()
            if verb == b"-ERR":
                return None
            if verb == b"PING":
                writer.write(b"PONG\r\n")
            if verb == b"MSG":
                return json.loads(await reader.readexactly(int(line.split()[-1])))
    return None


async def valkey_is_ready(port: int, password: str) -> bool:
    """Whether the password is taken and the data has been loaded."""
    async with _connected(port) as (reader, writer):
        writer.write(b"*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\nPING\r\n" % (len(password), password.encode()))
        return await reader.readline() == b"+OK\r\n" and await reader.readline() == b"+PONG\r\n"


async def service_is_ready(port: int) -> bool:
    """Whether GET /readyz answers 200."""
    async with _connected(port) as (reader, writer):
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        status = (await reader.readline()).split()
        return len(status) > 1 and status[1] == b"200"


async def openbao_is_ready(port: int, user: str, password: str) -> bool:
    """Whether this user is let in: the server is open, and set up. Its tokens are not stored anywhere."""
    body = json.dumps({"password": password}).encode()
    head = f"POST /v1/auth/userpass/login/{user} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    async with _connected(port) as (reader, writer):
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        status = (await reader.readline()).split()
        return len(status) > 1 and status[1] == b"200"


@asynccontextmanager
async def _connected(port: int) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection that ends, with TimeoutError or OSError, when it takes longer than a probe may."""
    async with asyncio.timeout(PROBE_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield reader, writer
        finally:
            writer.close()
