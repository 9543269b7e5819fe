"""Writes docs/configure/settings.md from the settings classes; a contract test holds the page to them.

`python -m tests.kit.settings_page` writes it.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from chassis.settings import ServiceSettings, env_names
from cli.up.settings import UpSettings
from gateway.settings import GatewaySettings
from turn_runner.settings import RunnerSettings

PAGE = Path(__file__).parents[2] / "docs/configure/settings.md"

HEAD = """# Every setting

Written by `python -m tests.kit.settings_page` from the code; do not edit. How values are chosen, levels, secrets and
production mode: [README.md](README.md). Unless a table says otherwise the level is `deployment`.
"""

SECTIONS: tuple[tuple[str, str, type[BaseSettings]], ...] = (
    (
        "The embedded stack",
        "Read by `retinue up`, which makes addresses, ports and passwords for the services it starts.",
        UpSettings,
    ),
    ("Every service", "Read by each service process. The embedded stack sets those that need it.", ServiceSettings),
    ("Gateway", "Beside those of every service.", GatewaySettings),
    ("Turn-runner", "Beside those of every service.", RunnerSettings),
)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, intro, cls in SECTIONS:
        parts.append(f"## {title}\n\n{intro}\n\n" + table(cls))
    return "\n".join(parts)


def table(cls: type[BaseSettings]) -> str:
    """One line for each setting that this class adds or changes."""
    lines = ["| variable | default | unit | what it does |", "| --- | --- | --- | --- |"]
    common = {} if cls is ServiceSettings or not issubclass(cls, ServiceSettings) else ServiceSettings.model_fields
    for name, field in cls.model_fields.items():
        if name in common and _line(name, field) == _line(name, common[name]):
            continue
        lines.append(_line(name, field))
    return "\n".join(lines) + "\n"


def _line(name: str, field: FieldInfo) -> str:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    text = (field.description or "").replace("|", "\\|")
    level = str(extra.get("level", "deployment"))
    note = "" if level == "deployment" else f" (level: {level})"
    return f"| `{env_names(name, field)[0]}` | {_default(field.default)} | {extra.get('unit', '')} | {text}{note} |"


def _default(value: object) -> str:
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float):
        return f"`{value:g}`"
    return f"`{value}`" if value not in (None, "", []) else ""


if __name__ == "__main__":
    PAGE.write_text(page())
