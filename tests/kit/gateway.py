"""A gateway process of one's own on the shared servers, with settings that a test chooses; and people who use it."""

from __future__ import annotations

import itertools
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from tests.kit.stack import QUIET, Servers
from tests.kit.waiting import eventually

PASSWORD = "correct horse battery"
_names = itertools.count(1)


@dataclass
class Gateway:
    """A running gateway; `url` is its public address, `log_path` what it says, `health` its loopback port."""

    url: str
    process: subprocess.Popen
    log_path: str
    health: int = 0

    def client(self, **headers: str) -> httpx.Client:
        """Somebody without credentials; keeps cookies, and says where it comes from, as a browser does."""
        return httpx.Client(base_url=self.url, headers={"origin": self.url, **headers}, timeout=20)

    def log(self) -> str:
        with open(self.log_path) as log:
            return log.read()


@dataclass
class Person:
    """An account with a browser (cookie) and a program (token)."""

    username: str
    id: str
    browser: httpx.Client
    token: str
    program: httpx.Client


@contextmanager
def gateway_on(servers: Servers, env: Mapping[str, str] | None = None) -> Iterator[Gateway]:
    """Start `python -m gateway.main` as the supervisor would, wait until it is ready, and end it."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.set_inheritable(True)
    health = _free_port()
    environment = os.environ | QUIET | servers.env_of("gateway")
    environment |= {
        "RETINUE_LISTEN_FD": str(listener.fileno()),
        "RETINUE_INSTANCE": f"gateway-test-{next(_names)}",
        "RETINUE_HEALTH_PORT": str(health),
        "RETINUE_CONNECTION_LINGER": "0",  # tests leave connections open, and nobody waits for them
        **dict(env or {}),
    }
    with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gateway.main"],
            env=environment,
            stderr=log,
            stdout=log,
            pass_fds=(listener.fileno(),),
        )
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.close()
        gateway = Gateway(url, process, log.name, health)
        try:
            eventually(lambda: _is_ready(gateway, health), 90, "the gateway is ready")
            yield gateway
        finally:
            process.terminate()
            process.wait(20)


def person_at(gateway: Gateway, name: str | None = None) -> Person:
    """A new account."""
    username = name or f"person-{secrets.token_hex(6)}"
    browser = gateway.client()
    made = browser.post("/api/auth/register", json={"username": username, "password": PASSWORD})
    assert made.status_code == 201, made.text
    token = browser.post("/api/tokens", json={"name": "program"})
    assert token.status_code == 201, token.text
    program = httpx.Client(
        base_url=gateway.url, headers={"authorization": f"Bearer {token.json()['token']}"}, timeout=20
    )
    return Person(username, made.json()["user"]["id"], browser, token.json()["token"], program)


def _is_ready(gateway: Gateway, health: int) -> bool:
    if gateway.process.poll() is not None:
        raise RuntimeError(f"the gateway did not start:\n{gateway.log()}")
    try:
        return httpx.get(f"http://127.0.0.1:{health}/readyz", timeout=2).status_code == 200
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]
