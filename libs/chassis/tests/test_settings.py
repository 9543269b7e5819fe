"""Settings: names, provenance, masking, and what production refuses."""

import json
import subprocess
import sys

import pytest
from pydantic import SecretStr

from chassis.errors import Misconfigured
from chassis.settings import MASK, ServiceSettings, is_loopback, setting

REAL = "Qm3v0Zr8Wk1xTn5y"


class Settings(ServiceSettings):
    service = "sample"
    greeting: str = setting("hello", "what to say first", level="user")
    slots: int = setting(4, "turns at a time", unit="turns", ge=1, le=9)
    openai_api_key: SecretStr = setting(SecretStr(""), "provider key", env=("OPENAI_API_KEY",))


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in ("DATABASE_URL", "NATS_URL", "OPENAI_API_KEY", "RETINUE_PUBLIC_URL", "RETINUE_HOST"):
        monkeypatch.delenv(name, raising=False)


def row(settings, name):
    return next(row for row in settings.table() if row.name == name)


def test_saved_wins_over_environment_wins_over_default(monkeypatch):
    assert (Settings.load().greeting, Settings.load().source("greeting")) == ("hello", "default")
    monkeypatch.setenv("RETINUE_GREETING", "salut")
    assert (Settings.load().greeting, Settings.load().source("greeting")) == ("salut", "environment")
    saved = Settings.load({"greeting": "ahoi"})
    assert (saved.greeting, saved.source("greeting")) == ("ahoi", "saved")


def test_saved_wins_for_settings_with_a_provider_name_too(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    saved = Settings.load({"openai_api_key": "from-the-page"})
    assert saved.openai_api_key.get_secret_value() == "from-the-page"
    assert saved.source("openai_api_key") == "saved"
    assert Settings.load().openai_api_key.get_secret_value() == "from-the-environment"


def test_an_empty_variable_is_no_value(monkeypatch):
    monkeypatch.setenv("RETINUE_GREETING", "")
    assert (Settings.load().greeting, Settings.load().source("greeting")) == ("hello", "default")


def test_table_masks_secrets_and_keeps_the_rest_of_a_url(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", f"postgresql://gateway:{REAL}@127.0.0.1:5432/retinue")
    monkeypatch.setenv("OPENAI_API_KEY", REAL)
    settings = Settings.load()
    assert REAL not in json.dumps([row.as_dict() for row in settings.table()])
    assert REAL not in repr(settings)
    assert row(settings, "database_url").value == f"postgresql://gateway:{MASK}@127.0.0.1:5432/retinue"
    key = row(settings, "openai_api_key")
    assert (key.value, key.env, key.source) == (MASK, "OPENAI_API_KEY", "environment")
    slots = row(settings, "slots")
    assert (slots.env, slots.value, slots.unit, slots.level) == ("RETINUE_SLOTS", 4, "turns", "deployment")
    assert row(settings, "greeting").level == "user"


@pytest.mark.parametrize("field", list(ServiceSettings.model_fields))
def test_every_setting_has_a_description(field):
    assert row(Settings.load(), field).description


def test_a_wrong_value_is_named_but_never_quoted(monkeypatch):
    monkeypatch.setenv("RETINUE_SLOTS", "s3cr3t")
    with pytest.raises(Misconfigured, match="RETINUE_SLOTS") as told:
        Settings.load()
    assert "s3cr3t" not in str(told.value)


def production(monkeypatch, **values):
    monkeypatch.setenv("RETINUE_PUBLIC_URL", "https://retinue.test")
    for name, value in values.items():
        monkeypatch.setenv(name, value)


def test_loopback_is_not_production_and_needs_no_secrets():
    assert not Settings.load().production
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "[::1]", "localhost", "127.9.9.9")] == [True] * 5
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "retinue.test")] == [False] * 4


def test_production_refuses_missing_secrets_by_name(monkeypatch):
    production(monkeypatch)
    with pytest.raises(Misconfigured) as told:
        Settings.load()
    for name in ("DATABASE_URL is missing", "RETINUE_DATABASE_SYSTEM_URL is missing", "NATS_URL is missing"):
        assert name in str(told.value)


@pytest.mark.parametrize(
    ("password", "fault"),
    [("changeme", "is a sample"), ("aaaaaaaaaaaaaaaa", "is a sample"), ("k7Rz", "is shorter than"), ("", "has no pas")],
)
def test_production_refuses_sample_secrets(monkeypatch, password, fault):
    url = f"postgresql://gateway:{password}@db/retinue"
    production(monkeypatch, DATABASE_URL=url, RETINUE_DATABASE_SYSTEM_URL=url, NATS_URL=f"nats://gateway:{REAL}@bus")
    with pytest.raises(Misconfigured, match=f"DATABASE_URL {fault}") as told:
        Settings.load()
    assert "NATS_URL" not in str(told.value)


def test_production_accepts_real_secrets(monkeypatch):
    url = f"postgresql://gateway:{REAL}@db/retinue"
    production(monkeypatch, DATABASE_URL=url, RETINUE_DATABASE_SYSTEM_URL=url, NATS_URL=f"nats://gateway:{REAL}@bus")
    assert Settings.load().production


def test_the_table_prints_as_a_program(tmp_path):
    source = (
        "from chassis.settings import ServiceSettings, print_table\n"
        "class S(ServiceSettings):\n    service = 'sample'\n"
        "print_table(S)\n"
    )
    env = {"RETINUE_LOG_LEVEL": "debug", "DATABASE_URL": f"postgresql://u:{REAL}@h/d"}
    out = subprocess.run([sys.executable, "-c", source], env=env, capture_output=True, text=True, check=True).stdout
    rows = {row["name"]: row for row in json.loads(out)}
    assert (rows["log_level"]["value"], rows["log_level"]["source"]) == ("debug", "environment")
    assert REAL not in out
