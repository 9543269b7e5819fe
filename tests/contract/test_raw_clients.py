"""One guarded client: whoever opens a connection of its own must be on the list, with the reason.

Addresses that people or models give are reached through `outbound` alone. This looks at the source for everything
that could go round it: other HTTP clients, aiohttp's client side, sockets and streams opened by hand. Servers of the
deployment (Postgres, NATS, Valkey) have clients of their own kind; import contracts keep those in their rooms.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ALLOWED = {
    "libs/outbound/": "the guarded client itself",
    "libs/llm/": "providers of models: their addresses are an admin's, or built in",
    "libs/vault/": "the key server: its address is the deployment's",
    "libs/cli/": "the command line: talks to its own machine and to the servers it starts, as the person who calls it",
    "libs/chassis/chassis/http.py": "listens; connects to nobody",
}
"""Rooms and files that may; a new line needs a reason as good as these."""

CLIENTS = frozenset(
    (
        "aiohttp", "httpx", "requests", "urllib3", "http.client", "urllib.request", "websockets", "websocket", "ftplib",
        "smtplib", "aiosmtplib", "imaplib", "poplib", "telnetlib", "xmlrpc.client", "pycurl", "httplib2", "niquests",
        "paramiko", "asyncssh", "socket", "httpcore", "curl_cffi", "tornado", "twisted",
    )
)  # fmt: skip
SERVING = "aiohttp.web"
OPENERS = frozenset(
    (
        "open_connection", "open_unix_connection", "create_connection", "create_unix_connection", "sock_connect",
        "urlopen",
    )
)  # fmt: skip
"""Functions that open a connection, whatever they are called on."""


def opened(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of everything in this source that is, or could open, a connection of its own."""
    for node in ast.walk(ast.parse(source)):
        for name in _named(node):
            if _is_client(name) or name.rpartition(".")[2] in OPENERS:
                yield getattr(node, "lineno", 0), name


def _named(node: ast.AST) -> list[str]:
    """What a piece of source imports or calls."""
    match node:
        case ast.Import(names=names):
            return [each.name for each in names]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return [f"{module}.{each.name}" for each in names]
        case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="__import__"), args=[ast.Constant(value)]):
            return [str(value)]
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in OPENERS:
            return [name]
        case _:
            return []


def _is_client(name: str) -> bool:
    if name == SERVING or name.startswith(f"{SERVING}."):
        return False
    return any(name == client or name.startswith(f"{client}.") for client in CLIENTS)


def sources() -> Iterator[tuple[str, str]]:
    """Name and text of every module of the product."""
    for member in sorted([*ROOT.glob("libs/*"), *ROOT.glob("services/*")]):
        for path in sorted((member / member.name).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_nobody_else_opens_connections() -> None:
    found = [
        f"{name}:{line}: {what}"
        for name, source in sources()
        if not name.startswith(tuple(ALLOWED))
        for line, what in opened(source)
    ]
    assert not found, "use `outbound.Guarded`, or say in ALLOWED why not:\n" + "\n".join(found)


def test_the_list_only_names_those_that_need_it() -> None:
    idle = [room for room in ALLOWED if not any(n.startswith(room) and any(opened(source)) for n, source in sources())]
    assert not idle, f"these open no connections any more: {idle}"


@pytest.mark.parametrize(
    "source",
    [
        "import aiohttp",
        "from aiohttp import ClientSession",
        "import httpx as h",
        "import urllib.request",
        "from urllib import request",
        "from urllib.request import urlopen",
        "import http.client",
        "import socket",
        "from socket import socket",
        "import asyncio\nasync def f(): await asyncio.open_connection('h', 1)",
        "async def f(loop): await loop.create_connection(g, 'h', 1)",
        "from asyncio import open_connection as quietly",
        "import importlib\nimportlib.import_module('requests')",
    ],
)
def test_it_sees(source: str) -> None:
    assert list(opened(source))


@pytest.mark.parametrize(
    "source",
    [
        "from aiohttp import web",
        "from urllib.parse import urlsplit",
        "from starlette.requests import Request",
        "from llm.requests import Request",
        "from outbound import Guarded",
    ],
)
def test_it_lets_pass(source: str) -> None:
    assert not list(opened(source))
