import re
import stat
from pathlib import Path

from cli.up.secrets import SIGNING_KEY, load_secrets


def test_secrets_are_made_once_kept_and_private(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    first = load_secrets(path, ["nats_admin", SIGNING_KEY])
    assert load_secrets(path, ["nats_admin", SIGNING_KEY]) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["secrets.json"]


def test_a_new_name_leaves_the_others_alone(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    first = load_secrets(path, ["nats_admin"])
    second = load_secrets(path, ["nats_admin", "valkey"])
    assert second["nats_admin"] == first["nats_admin"] != second["valkey"]


def test_passwords_need_no_quoting_in_a_url_and_the_signing_key_is_hex(tmp_path: Path) -> None:
    made = load_secrets(tmp_path / "secrets.json", ["valkey", SIGNING_KEY])
    assert re.fullmatch(r"[A-Za-z0-9_-]{40,}", made["valkey"])
    assert len(bytes.fromhex(made[SIGNING_KEY])) == 32
