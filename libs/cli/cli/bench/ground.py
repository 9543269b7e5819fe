"""What a benchmark stands on: a scripted model, a stack of its own in front of it, and accounts that send."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.bench.load import Job
from cli.bench.meters import cpu_seconds
from cli.up import running
from cli.up.embedded import EmbeddedStack, embedded_stack
from cli.up.services import metrics_secret

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_MANY = "100000"
_PEOPLE = 20
"""Accounts that the streams are spread over: turns of one user are promoted one after the other."""


class Ground:
    """A running stack in front of a scripted model."""

    def __init__(self, stack: EmbeddedStack, model_url: str) -> None:
        self.stack = stack
        self.model_url = model_url
        self._tokens: list[str] = []

    def sign_in(self) -> None:
        """Make the accounts that send."""
        for number in range(_PEOPLE):
            account = {"username": f"bench-{number}", "password": "only for measuring"}
            cookie = self._post("/api/auth/register", account)[1]
            made, _ = self._post("/api/tokens", {"name": "bench"}, {"cookie": cookie})
            self._tokens.append(made["token"])

    def job(self, way: str, *, streams: int, tokens: int, rate: float, ramp: float) -> Job:
        if way == "direct":
            return Job(way, self.model_url, streams, tokens, rate, ramp)
        threads = [self._thread(self._tokens[number % _PEOPLE]) for number in range(streams)]
        return Job(way, self.stack.url, streams, tokens, rate, ramp, threads)

    def pids(self, *kinds: str) -> list[int]:
        """The processes of these names (`gateway` means all gateways)."""
        return [row["pid"] for row in self.stack.ps() if row["name"].startswith(kinds)]

    def cpu(self, kind: str) -> float:
        """Seconds of CPU that the processes of this name have used so far."""
        return cpu_seconds(self.pids(kind))

    def bus_bytes(self) -> int:
        """Payload bytes that gateways and runners have sent to the bus and received from it so far."""
        stack = running.ground_of(self.stack.data_dir)
        rows = [row for row in self.stack.ps() if row["name"].startswith(("gateway", "turn-runner"))]
        return sum(_bus_bytes(row["ports"][-1], stack.secrets[metrics_secret(row["name"])]) for row in rows)

    def _thread(self, token: str) -> tuple[str, str]:
        made, _ = self._post("/api/threads", {}, {"authorization": f"Bearer {token}"})
        return token, made["id"]

    def _post(self, path: str, body: Any, headers: dict[str, str] | None = None) -> tuple[Any, str]:
        sent = {"content-type": "application/json", "origin": self.stack.url, **(headers or {})}
        request = urllib.request.Request(self.stack.url + path, json.dumps(body).encode(), sent)  # noqa: S310
        with _OPENER.open(request, timeout=30) as answer:
            cookie = (answer.headers.get("set-cookie") or "").partition(";")[0]
            return json.load(answer), cookie


def _bus_bytes(port: int, token: str) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"authorization": f"Bearer {token}"})
    with _OPENER.open(request, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return round(sum(float(line.split()[-1]) for line in lines if line.startswith("retinue_bus_bytes_total{")))


@contextmanager
def ground(keep: Path | None = None, environment: Mapping[str, str] | None = None) -> Generator[Ground]:
    """A model and a stack; both end with the block, and the stack's folder goes unless it is to be kept.

    `environment` goes on top of the settings that a benchmark needs.
    """
    with scripted_model(keep=1) as model_url, _folder(keep) as folder:
        settings = {
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "",
            "RETINUE_MODEL": "openai/scripted",
            "RETINUE_TITLES": "false",  # calls of another kind than those that are measured
            "RETINUE_PORT": "0",
            "RETINUE_HOST": "127.0.0.1",
            "RETINUE_PUBLIC_URL": "",
            "RETINUE_REGISTRATION": "open",
            "RETINUE_TURNS_PER_USER": _MANY,
            "RETINUE_TURNS_TOTAL": _MANY,
            "RETINUE_RUNNER_SLOTS": "2000",
        }
        with embedded_stack(folder, settings | dict(environment or {})) as stack:
            standing = Ground(stack, model_url)
            standing.sign_in()
            yield standing


@contextmanager
def _folder(keep: Path | None) -> Generator[Path]:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="retinue-bench-") as folder:
        parent = Path(folder)
        parent.chmod(0o711)
        yield parent / "data"


@contextmanager
def scripted_model(*, keep: int) -> Generator[str]:
    """A scripted model server of one's own, and its URL; it keeps that many requests for those who ask what it saw."""
    command = [sys.executable, "-P", "-m", "cli.dev", "model", "--port", "0", "--keep", str(keep), "--while-stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.stdin.close()
            process.wait(10)
