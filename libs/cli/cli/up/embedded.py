"""A stack for the length of a `with` block: for tests, benchmarks and tools that need the real servers.

The supervisor runs as a process of its own and ends with this one, whatever happens to it.
"""

import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.up import control, running
from cli.up.folder import DataFolder

STOP_SECONDS = 40.0


class EmbeddedStack:
    """A running stack on a data folder."""

    def __init__(self, data_dir: Path, process: subprocess.Popen[str], url: str | None) -> None:
        self.data_dir = data_dir
        self.process = process
        self._url = url

    @property
    def url(self) -> str:
        """The public address; only a stack with services has one."""
        if self._url is None:
            raise LookupError("servers only: there is no public address")
        return self._url

    @property
    def superuser_url(self) -> str:
        return running.superuser_url(self.data_dir)

    @property
    def redis_url(self) -> str:
        return running.redis_url(self.data_dir)

    def role_url(self, role: str) -> str:
        """postgresql:// as this role: retinue_owner, gateway, gateway_system, turn_runner, turn_runner_system."""
        return running.role_url(self.data_dir, role)

    def nats_url(self, user: str = "admin") -> str:
        return running.nats_url(self.data_dir, user)

    def env_of(self, service: str, number: int = 1) -> dict[str, str]:
        """DATABASE_URL, NATS_URL and the rest, as the supervisor tells them to `gateway` or `turn_runner`."""
        return running.service_environment(self.data_dir, service, number)

    def ps(self) -> list[dict[str, Any]]:
        return control.ps(self.data_dir)

    def process_of(self, name: str) -> dict[str, Any]:
        return next(row for row in self.ps() if row["name"] == name)

    def hold(self, name: str, seconds: float) -> None:
        control.hold(self.data_dir, name, seconds)

    def stop_process(self, name: str) -> None:
        control.stop(self.data_dir, name)

    def start_process(self, name: str) -> None:
        control.start(self.data_dir, name)

    def restart(self, *names: str) -> list[dict[str, Any]]:
        return control.restart(self.data_dir, names)

    def log(self, name: str) -> str:
        return DataFolder(self.data_dir).log(name).read_text(errors="replace")

    def stop(self) -> int:
        """End the stack in order; the exit code of its supervisor."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        return self.process.wait(STOP_SECONDS)


def start_embedded(
    data_dir: Path, env: Mapping[str, str] | None = None, *, services: bool, supervisor_log: Path | None = None
) -> EmbeddedStack:
    """Start a stack and wait until it is ready; RuntimeError with everything it said if it does not start.

    `env` goes on top of this process's environment. Its keys lie beside the data folder, not in this machine's
    configuration, unless `env` names RETINUE_KEYS. Without `services` only NATS, Postgres and Valkey run, migrated.
    """
    data_dir.parent.mkdir(parents=True, exist_ok=True)
    told = supervisor_log or data_dir.with_name(data_dir.name + ".supervisor.log")
    command = [sys.executable, "-P", "-m", "cli.main", "up", "--while-stdin"]
    with told.open("a") as errors:
        process = subprocess.Popen(
            command if services else [*command, "--servers-only"],
            env=os.environ
            | {"RETINUE_KEYS": str(data_dir.with_name(data_dir.name + ".keys"))}
            | dict(env or {})
            | {"RETINUE_DATA_DIR": str(data_dir)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("Retinue is ready: "):
        process.wait(STOP_SECONDS)
        raise RuntimeError(f"the stack did not start:\n{told.read_text(errors='replace')}")
    return EmbeddedStack(data_dir, process, line.split(": ", 1)[1].strip() if services else None)


@contextmanager
def embedded_servers(data_dir: Path) -> Generator[EmbeddedStack]:
    """NATS, Postgres and Valkey, migrated, without services."""
    servers = start_embedded(data_dir, services=False)
    try:
        yield servers
    finally:
        servers.stop()


@contextmanager
def embedded_stack(data_dir: Path, env: Mapping[str, str] | None = None) -> Generator[EmbeddedStack]:
    """Everything: servers and services, behind one address."""
    stack = start_embedded(data_dir, env, services=True)
    try:
        yield stack
    finally:
        stack.stop()
