"""The keys of a data folder: made once, outside of it, and missed loudly when they are gone.

`vault.json` in the data folder notes who keeps the keys, where the key file is, and which key the first start found or
made there. It holds no key. A key file that is missing is never made again while this note stands: whatever was sealed
with the old one would be lost without a word.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from chassis.configuration import key_path
from cli.up.folder import DataFolder
from cli.up.private_files import read_json, write_private
from cli.up.private_files import write_private_json as write_json
from cli.up.refusal import Refused
from cli.up.settings import UpSettings, Vault


@dataclass(frozen=True)
class Note:
    """What is noted of the keys; names and places only."""

    vault: Vault
    keys: str
    key: str | None = None
    """A key that was in the file when the folder was first used with it."""
    seal: str | None = None
    """The same of OpenBao's."""


def note_of(folder: DataFolder) -> Note | None:
    kept = read_json(folder.root / "vault.json")
    return None if kept is None else Note(**{name: kept.get(name) for name in Note.__dataclass_fields__})


def seal_path(settings: UpSettings) -> Path:
    """The key that opens the embedded OpenBao at its start, beside the key file."""
    path = key_path(settings.keys)
    return path.with_name(f"{path.name}.openbao")


def prepare(folder: DataFolder, settings: UpSettings) -> None:
    """Make or find the keys that this stack needs, and note them. Raises `Refused`."""
    path = key_path(settings.keys)
    if path.is_relative_to(folder.root):
        raise Refused(
            f"The key file {path} would lie in the data folder that it protects: choose another RETINUE_KEYS."
        )
    before = note_of(folder)
    key, seal = (before.key, before.seal) if before else (None, None)
    try:
        if settings.vault == "file":
            key = _key(path, key, folder)
        if settings.vault == "openbao":
            seal = _seal(seal_path(settings), seal, folder)
    except OSError as wrong:
        reason = (wrong.strerror or str(wrong)).lower()
        raise Refused(f"The keys at {path} cannot be used ({reason}): name another place with RETINUE_KEYS.") from wrong
    note = Note(settings.vault, str(path), key, seal)
    if note != before:
        write_json(folder.root / "vault.json", asdict(note))


def _key(path: Path, noted: str | None, folder: DataFolder) -> str:
    kept = read_json(path)
    if kept is None:
        if noted is not None:
            raise Refused(_missing(path, folder))
        return _made(path)
    _refuse_open(path)
    content = cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}
    names = [str(name) for name in content.get("keys") or ()]
    if not names or (noted is not None and noted not in names):
        raise Refused(_missing(path, folder))
    return noted or str(content.get("current"))


def _made(path: Path) -> str:
    """In a process of its own: the supervisor starts at once and stays small, without a library of ciphers."""
    command = [sys.executable, "-P", "-m", "vault", "create", str(path)]
    made = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", check=False)
    if made.returncode != 0:
        raise Refused(f"No key file could be made: {made.stderr.strip() or 'see RETINUE_KEYS'}.")
    return made.stdout.strip()


def _seal(path: Path, noted: str | None, folder: DataFolder) -> str:
    """32 random bytes, known in the note by the name that OpenBao is told."""
    if path.exists():
        name = _seal_name(path)
        if noted is not None and noted != name:
            raise Refused(_missing(path, folder))
        return name
    if noted is not None:
        raise Refused(_missing(path, folder))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, secrets.token_bytes(32))
    return _seal_name(path)


def _seal_name(path: Path) -> str:
    _refuse_open(path)
    return "seal-" + hashlib.sha256(b"retinue seal key\0" + path.read_bytes()).hexdigest()[:12]


def _refuse_open(path: Path) -> None:
    if path.stat().st_mode & 0o077:
        raise Refused(f"The keys in {path} are open to others: chmod 600 {path}.")


def _missing(path: Path, folder: DataFolder) -> str:
    return (
        f"The key that seals the secrets in {folder.root} is not in {path}: bring that file back from its backup "
        f"(`retinue keys export` made one). If it is lost for good, delete {folder.root / 'vault.json'}; saved keys of "
        "providers must then be entered again."
    )


def export(folder: DataFolder) -> dict[str, str]:
    """What a backup of the data folder does not hold: file name -> content, as text. Raises `Refused`."""
    note = note_of(folder)
    if note is None:
        raise Refused(f"There is no stack in {folder.root} yet: start it with `retinue up`, or set RETINUE_DATA_DIR.")
    found: dict[str, str] = {}
    path = Path(note.keys)
    try:
        if path.exists():
            found["keys"] = path.read_text()
        seal = path.with_name(f"{path.name}.openbao")
        if note.seal is not None:
            found["openbao"] = seal.read_bytes().hex()
    except OSError as wrong:
        raise Refused(f"The keys at {path} cannot be read ({wrong.strerror}).") from wrong
    if not found:
        raise Refused(f"The keys of {folder.root} are kept by a server (RETINUE_VAULT=transit): back up that one.")
    return found


def environment(settings: UpSettings) -> dict[str, str]:
    """What services are told of it, beside the address of a server."""
    told = {"RETINUE_VAULT": settings.vault, "RETINUE_KEYS": str(key_path(settings.keys))}
    if settings.vault == "transit" and not os.environ.get("RETINUE_VAULT_ADDRESS"):
        raise Refused("RETINUE_VAULT=transit needs RETINUE_VAULT_ADDRESS, the address of the OpenBao or Vault server.")
    return told
