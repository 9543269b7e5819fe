"""The keys of a data folder: made once and outside of it, missed loudly, exported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.up import keys
from cli.up.folder import DataFolder
from cli.up.refusal import Refused
from cli.up.settings import UpSettings, load_settings


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    (tmp_path / "data").mkdir()
    return DataFolder(tmp_path / "data")


@pytest.fixture
def settings(tmp_path: Path) -> UpSettings:
    return load_settings(keys=tmp_path / "configuration" / "keys", vault="file")


def test_the_first_start_makes_a_key_and_the_next_find_it(folder: DataFolder, settings: UpSettings) -> None:
    keys.prepare(folder, settings)
    assert settings.keys is not None
    content = settings.keys.read_bytes()
    assert settings.keys.stat().st_mode & 0o777 == 0o600
    keys.prepare(folder, settings)
    assert settings.keys.read_bytes() == content
    noted = (folder.root / "vault.json").read_text()
    assert not any(key in noted for key in json.loads(content)["keys"].values())


def test_a_key_that_is_gone_is_never_made_again(folder: DataFolder, settings: UpSettings) -> None:
    keys.prepare(folder, settings)
    assert settings.keys is not None
    settings.keys.unlink()
    with pytest.raises(Refused, match="bring that file back"):
        keys.prepare(folder, settings)
    assert not settings.keys.exists()
    other = DataFolder(folder.root.with_name("other"))
    other.root.mkdir()
    keys.prepare(other, settings)
    with pytest.raises(Refused, match="bring that file back"):
        keys.prepare(folder, settings)


def test_keys_do_not_lie_in_the_folder_that_they_protect(folder: DataFolder) -> None:
    with pytest.raises(Refused, match="data folder"):
        keys.prepare(folder, load_settings(keys=folder.root / "keys", vault="file"))


def test_keys_that_others_can_read_are_refused(folder: DataFolder, settings: UpSettings) -> None:
    keys.prepare(folder, settings)
    assert settings.keys is not None
    settings.keys.chmod(0o644)
    with pytest.raises(Refused, match="chmod 600"):
        keys.prepare(folder, settings)


def test_what_is_exported_is_the_other_half_of_a_backup(folder: DataFolder, settings: UpSettings) -> None:
    with pytest.raises(Refused, match="no stack"):
        keys.export(folder)
    keys.prepare(folder, settings)
    assert settings.keys is not None
    assert keys.export(folder) == {"keys": settings.keys.read_text()}
    keys.prepare(folder, load_settings(keys=settings.keys, vault="openbao"))
    seal = keys.seal_path(settings).read_bytes()
    assert keys.export(folder)["openbao"] == seal.hex()
    assert len(seal) == 32


def test_a_transit_server_needs_its_address(
    folder: DataFolder, settings: UpSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RETINUE_VAULT_ADDRESS", raising=False)
    elsewhere = load_settings(keys=settings.keys, vault="transit")
    with pytest.raises(Refused, match="RETINUE_VAULT_ADDRESS"):
        keys.environment(elsewhere)
    keys.prepare(folder, elsewhere)
    assert settings.keys is not None
    assert not settings.keys.exists(), "a server keeps the keys"
