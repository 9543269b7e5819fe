"""Rows of settings as a page asks for them; what is saved, checked and taken over."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import SecretStr

from chassis import user_settings
from chassis.settings import ServiceSettings, setting


class Settings(ServiceSettings):
    service = "sample"
    slots: int = setting(4, "turns at a time", ge=1, le=9, group="Work")
    pace: float | None = setting(None, "seconds a word", live=True)
    polite: bool = setting(True, "says please", live=True)
    mode: Literal["slow", "fast"] | None = setting(None, "how", live=True)
    model: str | None = setting(None, "who", kind="model", live=True)
    key: SecretStr | None = setting(None, "key", live=True)
    folder: Path | None = setting(None, "where", editable=False)


def rows(settings: ServiceSettings):
    return {row.name: row for row in settings.table()}


def test_a_row_says_how_it_is_asked_for():
    found = rows(Settings())
    kinds = {name: found[name].kind for name in ("slots", "pace", "polite", "mode", "model", "key", "folder")}
    assert kinds == {
        "slots": "number",
        "pace": "number",
        "polite": "boolean",
        "mode": "choice",
        "model": "model",
        "key": "secret",
        "folder": "text",
    }
    assert found["mode"].choices == ("slow", "fast")
    assert {found[name].group for name in kinds} == {"Work"}, "a group goes on until the next"
    assert (found["slots"].restart, found["pace"].restart) == (True, False)
    assert (found["folder"].editable, found["database_url"].editable, found["slots"].editable) == (False, False, True)
    assert found["slots"].default == 4


def test_only_what_is_read_at_each_use_is_taken_over():
    running = Settings()
    newer = Settings.read({"slots": 9, "polite": False, "key": "sk-planted"})
    assert sorted(running.take_live(newer)) == ["key", "polite"]
    assert (running.polite, running.slots) == (False, 4)
    assert running.source("polite") == "saved"
    assert "sk-planted" not in repr(running)
    running.take_all(newer)
    assert running.slots == 9


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("slots", 10, "less than or equal to 9"),
        ("slots", "many", "valid integer"),
        ("mode", "quick", "'slow' or 'fast'"),
        ("database_url", "postgresql://x", "environment alone (DATABASE_URL)"),
        ("nothing", 1, "no such setting"),
    ],
)
def test_a_new_value_that_does_not_fit_is_told(name, value, told):
    assert told in Settings.faults_of({name: value})[name]


def test_new_values_that_fit_are_not(monkeypatch):
    monkeypatch.setenv("RETINUE_SLOTS", "77")  # wrong already, and not by what is being saved
    assert Settings.faults_of({"mode": "fast", "pace": 0.5, "key": "sk", "model": None}) == {}


def test_a_users_settings_are_checked_and_listed():
    changes = {"model": "gpt", "zone": "Mars/Olympus", "search_place": True, "place_country": "Germany", "x": 1}
    assert set(user_settings.faults_of(changes)) == {"model", "zone", "place_country", "x"}
    good = {"model": "openai/gpt-5-mini", "zone": "Europe/Berlin", "effort": None}
    assert user_settings.faults_of(good) == {}
    found = {row.name: row for row in user_settings.table({"model": "openai/gpt-5-mini"})}
    assert (found["user.model"].source, found["user.model"].kind) == ("saved", "model")
    assert (found["user.search_place"].kind, found["user.search_place"].value) == ("boolean", None)
    assert {row.level for row in found.values()} == {"user"}
