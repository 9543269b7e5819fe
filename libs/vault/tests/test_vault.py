"""Sealing with keys of a file: contexts, rotation, damage, and the file itself."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from vault import KeyFile, KeysMissing, NotOpened, Vault
from vault.envelope import Envelope
from vault.key_file import create, rotate

SECRET = b"sk-planted-0123456789abcdef"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "configuration" / "keys"
    create(path)
    return path


class Counting(KeyFile):
    """Says how often it was asked."""

    made = unwrapped = 0

    async def new_data_key(self):
        self.made += 1
        return await super().new_data_key()

    async def unwrap(self, key_id, wrapped):
        self.unwrapped += 1
        return await super().unwrap(key_id, wrapped)


async def test_what_was_sealed_opens_under_its_own_context_only(path: Path) -> None:
    vault = Vault(KeyFile(path))
    sealed = await vault.seal(SECRET, "provider/1")
    assert SECRET not in sealed
    assert await vault.open(sealed, "provider/1") == SECRET
    assert await Vault(KeyFile(path)).open(sealed, "provider/1") == SECRET, "whole by itself"
    for other in ("provider/2", "setting/1", ""):
        with pytest.raises(NotOpened) as told:
            await vault.open(sealed, other)
        assert SECRET.decode() not in str(told.value)


async def test_the_same_value_never_looks_the_same(path: Path) -> None:
    vault = Vault(KeyFile(path))
    assert await vault.seal(SECRET, "a") != await vault.seal(SECRET, "a")


async def test_damage_is_not_opened_wherever_it_is(path: Path) -> None:
    vault = Vault(KeyFile(path))
    sealed = await vault.seal(SECRET, "a")
    for at in range(len(sealed)):
        damaged = sealed[:at] + bytes((sealed[at] ^ 1,)) + sealed[at + 1 :]
        with pytest.raises(NotOpened):
            await vault.open(damaged, "a")
    for length in range(len(sealed)):
        with pytest.raises(NotOpened):
            await vault.open(sealed[:length], "a")


async def test_data_keys_are_believed_for_their_minutes(path: Path) -> None:
    keys = Counting(path)
    vault = Vault(keys)
    sealed = [await vault.seal(SECRET, str(n)) for n in range(5)]
    for n, each in enumerate(sealed):
        assert await vault.open(each, str(n)) == SECRET
    assert (keys.made, keys.unwrapped) == (1, 1)
    vault.forget()
    assert await vault.open(sealed[0], "0") == SECRET
    assert keys.unwrapped == 2
    at_once = Vault(Counting(path), remember=0.0)
    one, two = await at_once.seal(SECRET, "a"), await at_once.seal(SECRET, "a")
    assert Envelope.unpack(one).wrapped != Envelope.unpack(two).wrapped


async def test_rotation_rewraps_without_opening_the_value(path: Path) -> None:
    running = Vault(KeyFile(path))
    old = await running.seal(SECRET, "a")
    rotate(path)
    anew = await Vault(KeyFile(path)).rewrap(old)
    assert Envelope.unpack(anew).key_id != Envelope.unpack(old).key_id
    assert Envelope.unpack(anew).value == Envelope.unpack(old).value
    for sealed in (old, anew):
        assert await running.open(sealed, "a") == SECRET, "a process that runs finds the new key by itself"
    assert await Vault(KeyFile(path)).rewrap(anew) == anew


async def test_another_deployments_keys_open_nothing(path: Path, tmp_path: Path) -> None:
    sealed = await Vault(KeyFile(path)).seal(SECRET, "a")
    create(tmp_path / "others")
    with pytest.raises(NotOpened, match="not in"):
        await Vault(KeyFile(tmp_path / "others")).open(sealed, "a")


async def test_keys_of_before_open_what_they_sealed(path: Path, tmp_path: Path) -> None:
    class Elsewhere(KeyFile):
        kind = "elsewhere"

    sealed = await Vault(KeyFile(path)).seal(SECRET, "a")
    create(tmp_path / "new")
    moved = Vault(Elsewhere(tmp_path / "new"), KeyFile(path))
    assert await moved.open(sealed, "a") == SECRET
    with pytest.raises(NotOpened, match="another kind"):
        await moved.rewrap(sealed)
    with pytest.raises(NotOpened, match="does not use"):
        await Vault(Elsewhere(tmp_path / "new")).open(sealed, "a")


def test_a_missing_or_open_or_damaged_file_is_said(path: Path) -> None:
    sealed = run(Vault(KeyFile(path)).seal(SECRET, "a"))
    path.chmod(0o640)
    with pytest.raises(KeysMissing, match="open to others"):
        run(Vault(KeyFile(path)).open(sealed, "a"))
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(KeysMissing, match="damaged"):
        run(Vault(KeyFile(path)).seal(SECRET, "a"))
    path.unlink()
    with pytest.raises(KeysMissing, match="RETINUE_KEYS"):
        run(Vault(KeyFile(path)).seal(SECRET, "a"))


def run(work: Coroutine[Any, Any, bytes]) -> bytes:
    """On a loop of its own: files are changed in between."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def test_the_file_is_made_once_and_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "keys"
    name = create(path)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    before = path.read_bytes()
    assert create(path) == name
    assert path.read_bytes() == before
    assert rotate(path) != name
    assert name in json.loads(path.read_bytes())["keys"]
    assert [entry for entry in os.listdir(path.parent) if "lock" not in entry] == ["keys"]


async def test_many_at_once_make_one_data_key(path: Path) -> None:
    keys = Counting(path)
    vault = Vault(keys)
    await asyncio.gather(*(vault.seal(SECRET, "a") for _ in range(20)))
    assert keys.made == 1


def test_no_key_is_in_what_is_printed(path: Path) -> None:
    key_file = KeyFile(path)
    key_file.load()
    keys = json.loads(path.read_bytes())["keys"].values()
    assert not any(key in repr(key_file) + repr(vars(key_file)["path"]) for key in keys)
