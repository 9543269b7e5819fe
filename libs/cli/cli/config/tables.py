"""The settings of every service as they are: each service prints its own, because nobody imports another's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chassis.settings import MASK
from cli.up.folder import named_root
from cli.up.refusal import Refused
from cli.up.running import service_environment
from cli.up.services import SERVICES
from store.system.settings import SavedSetting

Row = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """One name, however many services know it. `rows` by service."""

    name: str
    rows: dict[str, Row] = field(default_factory=dict[str, Row])

    @property
    def row(self) -> Row:
        return next(iter(self.rows.values()))

    def as_dict(self) -> Row:
        return {**self.row, "services": sorted(self.rows)}


def environment_of(service: str, data_dir: Path | None) -> dict[str, str]:
    """What the service is told: by the embedded stack if there is one in the folder, else by this shell alone."""
    try:
        return os.environ | service_environment(named_root(data_dir), service)
    except Refused:
        return dict(os.environ)


def settings_of(data_dir: Path | None, saved: list[SavedSetting]) -> list[Setting]:
    """Every setting, in the order of the services. Raises `Refused` if a service's do not read."""
    given = {each.name: MASK if each.sealed is not None else each.value for each in saved}
    found: dict[str, Setting] = {}
    for service in SERVICES:
        for row in _asked(service.name, "--saved", given, data_dir):
            found.setdefault(row["name"], Setting(row["name"])).rows[service.name] = row
    return list(found.values())


def faults_of(setting: Setting, value: Any, data_dir: Path | None) -> list[str]:
    """What is wrong with a new value, as each service that knows the setting says."""
    answers = [_asked(service, "--check", {setting.name: value}, data_dir) for service in setting.rows]
    return list(dict.fromkeys(answer[setting.name] for answer in answers if setting.name in answer))


def _asked(service: str, how: str, given: Mapping[str, Any], data_dir: Path | None) -> Any:
    asked = subprocess.run(
        [sys.executable, "-P", "-m", f"{service}.settings", how],
        input=json.dumps(given),
        env=environment_of(service, data_dir),
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    if asked.returncode != 0:
        raise Refused(asked.stderr.strip() or f"{service} does not say its settings (exit code {asked.returncode}).")
    return json.loads(asked.stdout)
