"""The data folder: where everything of one stack lies, which layout it has, and who may enter it."""

import errno
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from cli.up.account import Account
from cli.up.private_files import read_json, write_private_json
from cli.up.refusal import Refused

# 1: nats/, postgres/ (16), valkey/, logs/, blobs/, ports.json, secrets.json
LAYOUT = 1

OURS = frozenset(
    {
        *("lock", "logs", "ports.json", "secrets.json", "vault.json", "servers"),
        *("nats", "postgres", "valkey", "openbao", "lost+found"),
    }
)
"""What a first start that was cut short may have left before it wrote the layout down."""


def default_root() -> Path:
    """/var/lib/retinue as root, else `retinue` below XDG_DATA_HOME or ~/.local/share."""
    if os.geteuid() == 0:
        return Path("/var/lib/retinue")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "retinue"


def named_root(name: str | Path | None = None) -> Path:
    """The data folder asked for by argument or RETINUE_DATA_DIR, else the default one."""
    chosen = name or os.environ.get("RETINUE_DATA_DIR") or default_root()
    return Path(chosen).expanduser().absolute()


@dataclass(frozen=True)
class DataFolder:
    """The paths of one stack."""

    root: Path

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def layout(self) -> Path:
        return self.root / "layout.json"

    @property
    def ports(self) -> Path:
        return self.root / "ports.json"

    @property
    def secrets(self) -> Path:
        return self.root / "secrets.json"

    @property
    def state(self) -> Path:
        return self.root / "state.json"

    @property
    def migrated(self) -> Path:
        return self.root / "migrated.json"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def servers(self) -> Path:
        return self.root / "servers"

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def part(self, name: str) -> Path:
        """The folder of one server's data, made with mode 0700 if it is missing."""
        path = self.root / name
        path.mkdir(mode=0o700, exist_ok=True)
        return path

    def layout_version(self) -> int | None:
        """The version of the layout on disk, None for a folder that has none yet."""
        content = read_json(self.layout)
        if content is None:
            return None
        try:
            return int(content["version"])
        except (TypeError, KeyError, ValueError):
            raise Refused(f"The file {self.layout} names no version: bring it back from a backup.") from None

    def free_bytes(self) -> int:
        return shutil.disk_usage(self.root).free


def open_folder(root: Path, account: Account | None, min_free_bytes: int) -> DataFolder:
    """Make the folder if needed, close it to others, and check that a stack may live in it.

    Raises Refused for a folder that cannot be made or entered, is full, or was written by a newer Retinue.
    """
    folder = DataFolder(root)
    _refuse_closed_way(root, account)
    try:
        _refuse_foreign_files(folder)
        _make(folder, account)
    except OSError as error:
        raise Refused(_cannot_use(root, error)) from error
    _refuse_newer_layout(folder)
    _refuse_full_disk(folder, min_free_bytes)
    return folder


def stamp_layout(folder: DataFolder) -> None:
    """Write the layout version down, once the folder is ours."""
    if folder.layout_version() != LAYOUT:
        write_private_json(folder.layout, {"version": LAYOUT})


def _make(folder: DataFolder, account: Account | None) -> None:
    folder.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.root.stat()
    if status.st_mode & stat.S_ISVTX or (os.geteuid() != 0 and status.st_uid != os.geteuid()):
        raise Refused(
            f"The data folder {folder.root} belongs to others too: choose one of your own with RETINUE_DATA_DIR."
        )
    if account is None:
        folder.root.chmod(0o700)
    else:  # Postgres' user may pass through to its own part, and see nothing else
        os.chown(folder.root, 0, account.gid)
        folder.root.chmod(0o710)
    folder.logs.mkdir(mode=0o700, exist_ok=True)


def _refuse_closed_way(root: Path, account: Account | None) -> None:
    """Before anything is made: Postgres' user must be able to come as far as the folder."""
    if account is None:
        return
    way = next(parent for parent in root.parents if parent.exists())
    if not account.can_enter(way):
        raise Refused(
            f"Postgres runs as user {account.name!r}, which cannot reach the data folder {root} "
            f"({account.first_closed(way)} is closed to it): choose another with RETINUE_DATA_DIR, "
            f"for example {default_root()}, or open the way with chmod o+x."
        )


def _refuse_foreign_files(folder: DataFolder) -> None:
    """A folder that somebody else uses is not taken over: its mode would change, and its files would be ours."""
    if not folder.root.is_dir() or folder.layout.exists():
        return
    foreign = sorted(entry.name for entry in folder.root.iterdir() if entry.name not in OURS)
    if foreign:
        raise Refused(
            f"The folder {folder.root} holds other files ({foreign[0]}) and no Retinue: "
            f"choose an empty one with RETINUE_DATA_DIR."
        )


def _refuse_newer_layout(folder: DataFolder) -> None:
    version = folder.layout_version()
    if version is not None and version > LAYOUT:
        raise Refused(
            f"The data folder {folder.root} was written by a newer Retinue (layout {version}, this one knows "
            f"{LAYOUT}): install that version, or choose another folder with RETINUE_DATA_DIR."
        )


def _refuse_full_disk(folder: DataFolder, min_free_bytes: int) -> None:
    free = folder.free_bytes()
    if free < min_free_bytes:
        raise Refused(
            f"Only {free >> 20} MiB are free for the data folder {folder.root} and {min_free_bytes >> 20} MiB are "
            f"needed: free some space, choose another folder with RETINUE_DATA_DIR, or lower RETINUE_MIN_FREE_MB."
        )


def _cannot_use(root: Path, error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"The disk of the data folder {root} is full: free some space or set RETINUE_DATA_DIR to another disk."
    return (
        f"The data folder {root} cannot be used ({(error.strerror or str(error)).lower()}): "
        f"choose one that you may write to with RETINUE_DATA_DIR."
    )
