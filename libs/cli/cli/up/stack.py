"""What one stack consists of: folder, ports, secrets and the programs on them, put together."""

import socket
from dataclasses import dataclass
from pathlib import Path

from cli.up import nats, openbao, postgres, services, valkey
from cli.up.account import Account
from cli.up.folder import DataFolder
from cli.up.ports import Ports
from cli.up.program import Ground, Program
from cli.up.secrets import load_secrets
from cli.up.services import Service
from cli.up.settings import UpSettings


def servers_of(ground: Ground) -> list[Program]:
    """The servers of a stack: one arrives as one more line here."""
    found = [nats.program(ground), postgres.program(ground), valkey.program(ground)]
    if ground.settings.vault == "openbao":
        found.append(openbao.program(ground))
    return found


@dataclass(frozen=True)
class Stack:
    """Everything the supervisor starts, in the order of its two stages."""

    ground: Ground
    listener: socket.socket | None
    servers: list[Program]
    services: list[Program]

    @property
    def shown_url(self) -> str:
        """The address to give to people."""
        return self.ground.settings.public_url or self.url

    @property
    def url(self) -> str:
        """The address on this machine."""
        host = self.ground.settings.host
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
        return f"http://{shown}:{self.ground.ports['public']}"


def assemble(
    folder: DataFolder, settings: UpSettings, account: Account | None, table: tuple[Service, ...] = services.SERVICES
) -> Stack:
    """Claim ports, make secrets and build the programs; an empty table means servers only."""
    names = [
        postgres.secret_of(postgres.SUPERUSER),
        *nats.secret_names(),
        valkey.SECRET,
        openbao.SECRET,
        *services.secret_names(services.SERVICES, settings),
    ]
    ports = Ports(folder.ports)
    listener = ports.open_public(settings.host, settings.port) if table else None
    ground = Ground(folder, ports, load_secrets(folder.secrets, names), settings, account, _web_dist(settings))
    servers = servers_of(ground)
    programs = services.programs(table, ground, listener.fileno()) if listener else []
    ports.save()
    return Stack(ground, listener, servers, programs)


def _web_dist(settings: UpSettings) -> Path | None:
    """The built page: the one that is named, else the one of the clone that this file is part of."""
    if settings.web_dist is not None:
        return settings.web_dist.absolute()
    built = Path(__file__).parents[4] / "services" / "web" / "dist"
    return built if (built / "index.html").exists() else None
