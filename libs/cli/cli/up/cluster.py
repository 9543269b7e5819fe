"""The files of a Postgres cluster: made once, whole or not at all, and owned by the user that runs it."""

import asyncio
import locale
import os
import shutil
from pathlib import Path

import psutil

from cli.up.account import Account
from cli.up.ending import is_alive
from cli.up.private_files import write_private
from cli.up.refusal import Refused

SUPERUSER = "postgres"


async def initialise(binaries: Path, data: Path, password: str, account: Account | None) -> None:
    """Make the cluster, once; a start that was interrupted leaves only a draft, which is thrown away."""
    if _has_cluster(data):
        _hand_over(data, account)
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


def _hand_over(data: Path, account: Account | None) -> None:
    """Give the cluster to its user of today: last time it may have been `nobody`, or somebody who was not root."""
    if account is None or data.stat().st_uid == account.uid:
        return
    for path in (data, *data.rglob("*")):
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


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
        env=clean_environment(),
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


def _locale() -> str:
    """C.UTF-8 where the system has it: it sorts as C does and knows the case of all letters."""
    try:
        locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    except locale.Error:
        return "C"
    return "C.UTF-8"


def clean_environment() -> dict[str, str]:
    # PG* variables of the person who starts the stack are meant for another Postgres.
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": _locale()}
