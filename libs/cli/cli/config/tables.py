"""The settings of every service as they are: each service prints its own, because nobody imports another's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
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
    """One name, however many services know it. `rows` by service, `wrong` what they say about a new value."""

    name: str
    rows: dict[str, Row] = field(default_factory=dict[str, Row])
    wrong: list[str] = field(default_factory=list[str])

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


def settings_of(
    data_dir: Path | None, saved: list[SavedSetting], changes: Mapping[str, Any] | None = None
) -> list[Setting]:
    """Every setting, in the order of the services. Raises `Refused` if a service's do not read.

    `changes` are new values by name or variable; what is wrong with them is in their settings.
    """
    values = {each.name: MASK if each.sealed is not None else each.value for each in saved}
    told = json.dumps({"saved": values, "changes": dict(changes or {})})
    found: dict[str, Setting] = {}
    names = [service.name for service in SERVICES]

    def ask(service: str) -> Any:
        return _asked(service, told, data_dir)

    with ThreadPoolExecutor(len(names)) as threads:
        for service, answer in zip(names, threads.map(ask, names), strict=True):
            for row in answer["rows"]:
                setting = found.setdefault(row["name"], Setting(row["name"]))
                setting.rows[service] = row
                if (fault := answer["wrong"].get(row["name"])) and fault not in setting.wrong:
                    setting.wrong.append(fault)
    return list(found.values())


def _asked(service: str, told: str, data_dir: Path | None) -> Any:
    asked = subprocess.run(
        [sys.executable, "-P", "-m", f"{service}.settings", "--told"],
        input=told,
        env=environment_of(service, data_dir),
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    if asked.returncode != 0:
        raise Refused(asked.stderr.strip() or f"{service} does not say its settings (exit code {asked.returncode}).")
    return json.loads(asked.stdout)
