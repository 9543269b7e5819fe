"""`retinue doctor`: what could keep the stack from running, looked at one by one."""

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cli.up import control, keys, model_check, nats, postgres, probes, valkey
from cli.up.account import postgres_account
from cli.up.folder import LAYOUT, DataFolder
from cli.up.lock import holder_of, is_held
from cli.up.ports import is_free
from cli.up.program import Ground
from cli.up.refusal import Refused
from cli.up.running import ground_of
from cli.up.settings import UpSettings

OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    check: str
    ok: bool
    detail: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def as_line(self) -> str:
        return f"{'ok   ' if self.ok else 'WRONG'}  {self.check:28} {self.detail}"


def examine(root: Path, settings: UpSettings) -> list[Finding]:
    """Everything that can be checked now; a stack that does not run is not wrong."""
    folder = DataFolder(root)
    findings = [_python(), *_programs()]
    if not root.exists():
        return [*findings, _model_to_come(), Finding("data folder", True, f"{root} will be made by the first start")]
    if not os.access(root, os.R_OK | os.X_OK):
        return [*findings, Finding("data folder", False, f"{root} is closed to this user: run this as its owner")]
    findings += [_layout(folder), _disk(folder, settings), *_keys(folder), *_permissions(folder), *_account(folder)]
    if holder_of(folder.lock) is None or not is_held(folder.lock):
        return [*findings, *_at_rest(folder, settings)]
    return [*findings, *_running(folder)]


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", sys.version_info >= OLDEST_PYTHON, f"{found}, 3.11 or newer is needed")


def _programs() -> Iterator[Finding]:
    places: dict[str, Callable[[], Path]] = {
        "nats": nats.binary,
        "postgres": lambda: postgres.package_binaries() / "postgres",
        "valkey": valkey.binary,
    }
    for name, find in places.items():
        try:
            yield Finding(f"{name} program", True, str(find()))
        except Refused as error:
            yield Finding(f"{name} program", False, str(error))


def _layout(folder: DataFolder) -> Finding:
    version = folder.layout_version()
    ok = version is None or version <= LAYOUT
    return Finding("data folder", ok, f"{folder.root}, layout {version or 'none yet'} (this Retinue knows {LAYOUT})")


def _disk(folder: DataFolder, settings: UpSettings) -> Finding:
    free = folder.free_bytes()
    detail = f"{free >> 20} MiB free, {settings.min_free_mb} MiB are needed (RETINUE_MIN_FREE_MB)"
    return Finding("disk", free >= settings.min_free_bytes, detail)


def _keys(folder: DataFolder) -> Iterator[Finding]:
    """Whether the keys that the last start found are still there."""
    note = keys.note_of(folder)
    if note is None or note.vault == "transit":
        return
    for path, is_needed in ((Path(note.keys), note.key), (Path(f"{note.keys}.openbao"), note.seal)):
        if is_needed is not None:
            there = path.exists()
            found = (
                path if there else f"{path} is missing: bring it back from its backup (`retinue keys export` made one)"
            )
            yield Finding("keys of secrets", there, str(found))


def _permissions(folder: DataFolder) -> Iterator[Finding]:
    for path, allowed in ((folder.root, 0o710), (folder.secrets, 0o600), (folder.state, 0o600), (folder.logs, 0o700)):
        if path.exists():
            mode = stat.S_IMODE(path.stat().st_mode)
            yield Finding(f"permissions of {path.name}", not mode & ~allowed, f"{mode:o}, at most {allowed:o}")


def _account(folder: DataFolder) -> Iterator[Finding]:
    try:
        account = postgres_account()
    except Refused as error:
        yield Finding("postgres user", False, str(error))
        return
    if account is not None:
        reaches = account.can_enter(folder.root)
        detail = f"{account.name} {'reaches' if reaches else 'cannot reach'} {folder.root}"
        yield Finding("postgres user", reaches, detail)


def _at_rest(folder: DataFolder, settings: UpSettings) -> Iterator[Finding]:
    stale = folder.state.exists()
    yield Finding(
        "state file", not stale, "left by a run that was killed; the next start cleans up" if stale else "no stack runs"
    )
    yield _model_to_come()
    if settings.port:
        free = is_free(settings.host, settings.port)
        yield Finding("public port", free, f"{settings.port} is {'free' if free else 'taken by another process'}")


def _model(fault: str | None, answers: str) -> Finding:
    return Finding("model", fault is None, fault or answers)


def _model_to_come() -> Finding:
    """The model of a stack that this shell would start."""
    return _model(model_check.fault_of(os.environ), model_check.said_of_default(os.environ))


def _running(folder: DataFolder) -> Iterator[Finding]:
    ground = ground_of(folder.root)
    yield from asyncio.run(_logins(ground))
    try:
        status = control.status(folder.root)
    except Refused as error:
        yield Finding("supervisor", False, str(error))
        return
    # This shell may have other settings than the one that the stack was started from.
    yield _model(status.get("warning"), "as set when the stack was started")
    for row in status["processes"]:
        restarts = f"{row['restarts']} restarts" if row["restarts"] else "never restarted"
        yield Finding(row["name"], row["ready"], f"{row['state']}, pid {row['pid'] or '-'}, {restarts}")


async def _logins(ground: Ground) -> list[Finding]:
    """Whether each server takes the passwords of the data folder."""
    superuser = ground.secrets[postgres.secret_of(postgres.SUPERUSER)]
    probe = {
        "nats": probes.nats_is_ready(ground.ports["nats"], nats.ADMIN, ground.secrets[nats.secret_of(nats.ADMIN)]),
        "postgres": postgres.is_ready(postgres.package_binaries(), ground.ports["postgres"], superuser),
        "valkey": probes.valkey_is_ready(ground.ports["valkey"], ground.secrets[valkey.SECRET]),
    }
    answers = await asyncio.gather(*probe.values(), return_exceptions=True)
    return [
        Finding(f"{name} login", answer is True, "taken" if answer is True else f"refused ({answer})")
        for name, answer in zip(probe, answers, strict=True)
    ]
