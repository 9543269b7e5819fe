"""Keys in a file that only its owner may read: the keeper of a deployment on one machine.

The file lies in the configuration folder, never in the data folder that it protects. It is JSON: all keys by name,
32 bytes each, and which of them wraps what is new. Keys are added and never taken away while something is sealed
with them, and a file that is missing is made by `create` alone: who starts a service must not lose what was sealed.
"""

from __future__ import annotations

import base64
import binascii
import fcntl
import json
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vault.envelope import NONCE
from vault.errors import KeysMissing, NotOpened
from vault.keys import DataKey

KEY_BYTES = 32


class KeyFile:
    """A keeper of keys; re-reads its file when that has changed, so that a rotation needs no restart."""

    kind = "file"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_at: tuple[int, int] | None = None
        self._current = ""
        self._keys: dict[str, bytes] = {}

    def load(self) -> None:
        """Read the file, if it has changed. Raises `KeysMissing` with what is wrong with it."""
        try:
            status = self.path.stat()
        except OSError as wrong:
            reason = (wrong.strerror or str(wrong)).lower()
            raise KeysMissing(
                f"the key file {self.path} cannot be read ({reason}): bring it back (`retinue keys export` made its "
                "other half), or name another with RETINUE_KEYS"
            ) from None
        if self._read_at == (status.st_mtime_ns, status.st_ino):
            return
        if stat.S_IMODE(status.st_mode) & 0o077:
            raise KeysMissing(f"the key file {self.path} is open to others: chmod 600 {self.path}")
        self._current, self._keys = _parsed(self.path)
        self._read_at = (status.st_mtime_ns, status.st_ino)

    @property
    def names(self) -> list[str]:
        """The names of all keys, the oldest first."""
        return list(self._keys)

    async def current(self) -> str:
        self.load()
        return f"{self.kind}:{self._current}"

    async def new_data_key(self) -> DataKey:
        self.load()
        return self._wrap(AESGCM.generate_key(KEY_BYTES * 8))

    async def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        name = key_id.partition(":")[2]
        if name not in self._keys:
            self.load()
        key = self._keys.get(name)
        if key is None:
            raise NotOpened(f"it was sealed with the key {name!r}, which is not in {self.path}")
        try:
            return AESGCM(key).decrypt(wrapped[:NONCE], wrapped[NONCE:], key_id.encode())
        except (InvalidTag, ValueError):
            raise NotOpened(f"damaged, or the key {name!r} is another one than it was sealed with") from None

    async def rewrap(self, key_id: str, wrapped: bytes) -> DataKey:
        plain = await self.unwrap(key_id, wrapped)
        self.load()
        return self._wrap(plain)

    def _wrap(self, plain: bytes) -> DataKey:
        key_id = f"{self.kind}:{self._current}"
        nonce = os.urandom(NONCE)
        wrapped = nonce + AESGCM(self._keys[self._current]).encrypt(nonce, plain, key_id.encode())
        return DataKey(plain, key_id, wrapped)


def create(path: Path) -> str:
    """Makes the file with one key where there is none; the name of the current key. Raises `KeysMissing`, OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(path):
        if not path.exists():
            _write(path, *_with_new_key({}))
        file = KeyFile(path)
        file.load()
        return file._current  # pyright: ignore[reportPrivateUsage]


def rotate(path: Path) -> str:
    """Adds a key, under which from now on everything is wrapped; its name. Raises `KeysMissing`, OSError."""
    with _locked(path):
        current, keys = _with_new_key(_parsed(path)[1])
        _write(path, current, keys)
        return current


def _with_new_key(keys: dict[str, bytes]) -> tuple[str, dict[str, bytes]]:
    name = f"{datetime.now(UTC):%Y-%m-%d}-{secrets.token_hex(3)}"
    return name, {**keys, name: secrets.token_bytes(KEY_BYTES)}


def _parsed(path: Path) -> tuple[str, dict[str, bytes]]:
    try:
        content = cast("dict[str, Any]", json.loads(path.read_bytes()))
        keys = {str(name): base64.b64decode(key, validate=True) for name, key in content["keys"].items()}
        current = str(content["current"])
        if current not in keys or any(len(key) != KEY_BYTES for key in keys.values()):
            raise ValueError
    except FileNotFoundError:
        raise KeysMissing(f"there is no key file {path}") from None
    except (ValueError, LookupError, TypeError, AttributeError, binascii.Error):
        raise KeysMissing(f"the key file {path} is damaged: bring it back from a backup") from None
    except OSError as wrong:
        raise KeysMissing(f"the key file {path} cannot be read ({(wrong.strerror or str(wrong)).lower()})") from None
    return current, keys


def _write(path: Path, current: str, keys: dict[str, bytes]) -> None:
    """A crash leaves either the old file or the new one."""
    content = {"current": current, "keys": {name: base64.b64encode(key).decode() for name, key in keys.items()}}
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(json.dumps(content, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Two starts at once make one key, not one each."""
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
