"""The base of every service's settings: typed, with level, unit and provenance.

Names are `RETINUE_*`, or the variable that everybody already uses (`DATABASE_URL`, `OPENAI_API_KEY`). A value that was
saved in the UI wins over the environment, which wins over the default; `table()` says which one it was. Secrets are
`SecretStr` and leave this module masked.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, AliasChoices, Field, PrivateAttr, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from chassis.errors import Misconfigured
from chassis.setting_rows import Kind, Level, Row, Source, kind_of

PREFIX = "RETINUE_"
SAMPLES = ("change", "sample", "example", "secret", "password", "dummy", "default", "admin", "test", "xxxx", "0000")
MASK = "********"


def _is_an_address(url: str) -> str:
    parts = urlsplit(url)
    if not (parts.scheme in ("http", "https") and parts.hostname):
        raise ValueError("must be an address such as https://retinue.example.org")
    return url


def _is_a_model(model_id: str) -> str:
    provider, _, name = model_id.partition("/")
    is_alias = provider.startswith("~") and len(provider) > 1
    if model_id.split() != [model_id] or not ((provider and name) or is_alias):
        raise ValueError("must be provider/model such as openai/gpt-5-mini, or an alias such as ~gpt-latest")
    return model_id


ModelId = Annotated[str, AfterValidator(_is_a_model)]
"""The id of a model, or an alias."""

PublicUrl = Annotated[str, AfterValidator(_is_an_address)]
"""The address under which people reach a deployment: what the supervisor and every service mean by it."""


def setting(
    default: Any,
    description: str,
    *,
    level: Level = "deployment",
    unit: str = "",
    env: tuple[str, ...] = (),
    guarded: bool = False,
    group: str = "",
    editable: bool = True,
    live: bool = False,
    kind: Kind | None = None,
    **limits: Any,
) -> Any:
    """One setting. `env` replaces the name made from the field; `guarded` secrets must be set and real in production.

    `limits` are pydantic's (`ge`, `le`, `pattern`, …). `unit` is for people: `s`, `bytes`, `connections`. `group` is
    the heading on the page, by default the one before. Not `editable`: the environment's alone, because it is needed
    before what is saved can be read, or belongs to one process. `live`: read at each use, so that a saved change
    needs no restart. `kind` is how a page asks for it, by default read from the type.
    """
    alias = AliasChoices(*env) if env else None
    extra: dict[str, Any] = {"level": level, "unit": unit, "guarded": guarded}
    extra |= {"group": group, "editable": editable, "live": live, "kind": kind}
    return Field(default, description=description, validation_alias=alias, json_schema_extra=extra, **limits)


class ServiceSettings(BaseSettings):
    """What every service process needs to know. Services add their own fields with `setting(…)`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        hide_input_in_errors=True,
    )
    service: ClassVar[str] = "service"
    _saved: frozenset[str] = PrivateAttr(default=frozenset())

    instance: str = setting(
        "", "name of this process in logs, metrics and `retinue ps`", editable=False, group="Process"
    )
    data_dir: Path | None = setting(None, "folder that holds everything worth a backup", editable=False)
    blobs: Path | None = setting(
        None, "folder of what is too large for a row or the wire; unset: `blobs` in the data folder", editable=False
    )
    host: str = setting(
        "127.0.0.1", "address that the public door listens on; other than loopback means production", editable=False
    )
    public_url: PublicUrl | None = setting(
        None, "address under which people reach this deployment; set means production", editable=False
    )

    database_url: SecretStr = setting(
        SecretStr(""), "Postgres login under row-level security", env=("DATABASE_URL",), guarded=True, editable=False
    )
    database_system_url: SecretStr = setting(
        SecretStr(""), "second Postgres login, for sweeps, outbox and retention", guarded=True, editable=False
    )
    database_pool: int = setting(
        10, "open connections per login at most", unit="connections", ge=1, le=500, editable=False
    )
    nats_url: SecretStr = setting(SecretStr(""), "the bus", env=("NATS_URL",), guarded=True, editable=False)

    health_port: int = setting(
        0, "loopback port for /healthz, /readyz and /metrics; 0 takes a free one", ge=0, le=65535, editable=False
    )
    metrics_token: SecretStr = setting(
        SecretStr(""), "bearer token for /metrics; without one it stays shut", editable=False
    )

    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "least level that is written", editable=False
    )
    log_format: Literal["json", "text"] = setting("json", "json for machines, text for people", editable=False)

    connect_deadline: float = setting(
        60.0, "how long a start waits for Postgres and NATS before it gives up", unit="s", gt=0, editable=False
    )
    stop_grace: float = setting(
        5.0, "how long a stop may take before what is left is dropped", unit="s", ge=0, editable=False
    )
    drain_grace: float = setting(
        60.0,
        "how long handing over to another process may take (SIGUSR1, `retinue restart`)",
        unit="s",
        ge=0,
        editable=False,
    )
    readiness_timeout: float = setting(1.0, "how long one readiness check may take", unit="s", gt=0, editable=False)

    outbox_sweep: float = setting(
        1.0, "how often the outbox is swept for rows nobody relayed", unit="s", gt=0, group="Outbox"
    )
    outbox_batch: int = setting(200, "rows that one sweep takes at a time", unit="rows", ge=1, le=10_000)
    outbox_in_flight: int = setting(
        1000, "rows published at once right after commit; more are left to the sweep", unit="rows", ge=1
    )
    outbox_keep: float = setting(3600.0, "how long sent rows are kept for the curious", unit="s", ge=0)
    facts_keep: float = setting(
        3 * 86400.0, "how long sent facts are kept, so that lost ones can be found and sent again", unit="s", ge=86400
    )

    vault: Literal["file", "openbao", "transit"] = setting(
        "file",
        "who keeps the keys that seal secrets: a key file, an embedded OpenBao, or a Transit server",
        editable=False,
        group="Vault",
    )
    keys: Path | None = setting(None, "the key file; unset: `keys` in the configuration folder", editable=False)
    vault_address: str = setting("", "address of the OpenBao or Vault server", editable=False)
    vault_token: SecretStr = setting(SecretStr(""), "token for it; or a user and a password", editable=False)
    vault_user: str = setting("", "user of its userpass method", editable=False)
    vault_password: SecretStr = setting(SecretStr(""), "password of that user", editable=False)
    vault_namespace: str = setting("", "its namespace, if it has any", editable=False)
    vault_mount: str = setting("transit", "where its Transit engine is mounted", editable=False)
    vault_key: str = setting("retinue", "name of the Transit key", editable=False)
    vault_timeout: float = setting(10.0, "how long one request to it may take", unit="s", gt=0, editable=False)
    vault_remember: float = setting(
        300.0, "how long an unwrapped data key is kept in memory", unit="s", gt=0, editable=False
    )
    vault_threads: int = setting(2, "threads that speak to it", unit="threads", ge=1, le=64, editable=False)

    settings_refresh: float = setting(
        30.0,
        "how often saved settings are read anew although nobody said that they changed",
        unit="s",
        gt=0,
        editable=False,
    )

    faults: Path | None = setting(
        None, "for crash tests: folder of armed kill points; ignored in production", editable=False
    )

    def __init__(self, **saved: Any) -> None:
        """Values given here are the saved ones: they win over the environment."""
        super().__init__(**saved)
        self._saved = frozenset(saved)

    @classmethod
    def load(cls, saved: Mapping[str, Any] | None = None) -> Self:
        """Read the settings and refuse those that are unsafe in production; what a start does."""
        settings = cls.read(saved)
        settings.refuse_samples()
        return settings

    @classmethod
    def read(cls, saved: Mapping[str, Any] | None = None) -> Self:
        """Read the settings. Raises `Misconfigured` with a sentence per wrong one, which never quotes its value."""
        try:
            return cls(**(saved or {}))
        except ValidationError as wrong:
            raise Misconfigured("; ".join(_sentences(cls, wrong))) from None

    @property
    def process(self) -> str:
        """Name of this process: the instance the supervisor gave, else the service's name."""
        return self.instance or self.service

    @property
    def blob_folder(self) -> Path:
        """Where blobs are kept; all services of a deployment share it. Raises `Misconfigured`."""
        if self.blobs is not None:
            return self.blobs
        if self.data_dir is None:
            raise Misconfigured("RETINUE_BLOBS: a folder for blobs is needed where there is no data folder")
        return self.data_dir / "blobs"

    @property
    def production(self) -> bool:
        """Whether strangers may reach this deployment: not bound to loopback, or a public URL is set."""
        return bool(self.public_url) or not is_loopback(self.host)

    def refuse_samples(self) -> None:
        """In production, refuse guarded secrets that are missing or look like a sample. Raises `Misconfigured`."""
        if not self.production:
            return
        wrong: list[str] = []
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if not _extra(field)["guarded"] or not isinstance(value, SecretStr):
                continue
            if fault := _fault(value.get_secret_value()):
                wrong.append(f"{env_names(name, field)[0]} {fault}")
        if wrong:
            raise Misconfigured(
                "production mode (a host other than loopback, or RETINUE_PUBLIC_URL) needs real secrets: "
                + "; ".join(wrong)
            )

    def source(self, name: str) -> Source:
        """Where the value of this setting came from."""
        if name in self._saved:
            return "saved"
        names = env_names(name, type(self).model_fields[name])
        return "environment" if any(os.environ.get(key) for key in names) else "default"

    def take_live(self, newer: Self) -> list[str]:
        """Take over from `newer` what is read at each use; the names that have another value now."""
        changed: list[str] = []
        for name, field in type(self).model_fields.items():
            if _extra(field)["live"] and getattr(self, name) != getattr(newer, name):
                object.__setattr__(self, name, getattr(newer, name))  # frozen to everybody else
                changed.append(name)
        self._saved = newer._saved
        return changed

    def take_all(self, newer: Self) -> None:
        """Take over everything; for a start, before anybody has read a value."""
        for name in type(self).model_fields:
            object.__setattr__(self, name, getattr(newer, name))
        self._saved = newer._saved

    @classmethod
    def faults_of(cls, changes: Mapping[str, Any]) -> dict[str, str]:
        """What is wrong with new saved values, by name: unknown, not to be saved, or not what the field takes."""
        wrong: dict[str, str] = {}
        for name, value in changes.items():
            field = cls.model_fields.get(name)
            if field is None:
                wrong[name] = "There is no such setting."
            elif not _extra(field)["editable"]:
                wrong[name] = f"It is set by the environment alone ({env_names(name, field)[0]})."
            elif value is not None:
                try:
                    cls(**{name: value})
                except ValidationError as refused:
                    mine = [
                        error["msg"].removeprefix("Value error, ")
                        for error in refused.errors(include_input=False)
                        if name in error["loc"]
                    ]
                    if mine:
                        wrong[name] = "; ".join(mine)
        return wrong

    def table(self) -> list[Row]:
        """The effective settings, secrets masked, as `retinue config` prints them."""
        rows: list[Row] = []
        group = ""
        for name, field in type(self).model_fields.items():
            group = _extra(field)["group"] or group
            rows.append(self._row(name, field, group))
        return rows

    def _row(self, name: str, field: FieldInfo, group: str) -> Row:
        extra = _extra(field)
        kind, choices = kind_of(field, _extra(field)["kind"])
        return Row(
            name=name,
            env=env_names(name, field)[0],
            level=extra["level"],
            value=masked(getattr(self, name)),
            source=self.source(name),
            unit=extra["unit"],
            description=field.description or "",
            group=group,
            kind=kind,
            choices=choices,
            default=masked(field.default),
            restart=not extra["live"],
            editable=extra["editable"],
        )


def print_table(cls: type[ServiceSettings]) -> None:
    """Print the effective table as JSON: what `python -m SERVICE.settings` does, for `retinue config` to collect.

    With `--told` a JSON object is read from stdin: `saved` values count, and the answer is an object that also says
    what is `wrong` with `changes`, which are named by setting or by variable.
    """
    given: dict[str, Any] = json.load(sys.stdin) if "--told" in sys.argv[1:] else {}
    saved = {name: value for name, value in given.get("saved", {}).items() if name in cls.model_fields}
    try:
        rows = [row.as_dict() for row in cls.read(saved).table()]
    except Misconfigured as wrong:
        sys.stderr.write(f"{cls.service}: {wrong}\n")
        raise SystemExit(78) from None
    named = {variable: name for name, field in cls.model_fields.items() for variable in (name, *env_names(name, field))}
    changes = {named[name]: value for name, value in given.get("changes", {}).items() if name in named}
    answer = {"rows": rows, "wrong": cls.faults_of(changes)} if given else rows
    sys.stdout.write(json.dumps(answer) + "\n")


def env_names(name: str, field: FieldInfo) -> list[str]:
    """The environment variables that can set this field, the preferred one first."""
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        return [str(choice) for choice in alias.choices]
    return [alias if isinstance(alias, str) else f"{PREFIX}{name.upper()}"]


def is_loopback(host: str) -> bool:
    """Whether this bind address is reachable from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def masked(value: Any) -> Any:
    """A value fit for a screen: URLs lose their password, other secrets everything, the rest becomes JSON data."""
    if isinstance(value, SecretStr):
        plain = value.get_secret_value()
        if not plain:
            return ""
        return re.sub(r"(?<=//)([^:@/]*):[^@]*@", rf"\1:{MASK}@", plain) if "://" in plain else MASK
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [masked(item) for item in cast("list[Any]", value)]
    return value


def _extra(field: FieldInfo) -> dict[str, Any]:
    extra = field.json_schema_extra
    known = cast("dict[str, Any]", extra) if isinstance(extra, dict) else {}
    plain = {"level": "deployment", "unit": "", "guarded": False, "group": "", "editable": True, "live": False}
    return {**plain, "kind": None, **known}


def is_secret(field: FieldInfo) -> bool:
    """Whether its value is sealed when it is saved."""
    return kind_of(field, _extra(field)["kind"])[0] == "secret"


def _fault(secret: str) -> str | None:
    """What is wrong with a secret (or with the password of a URL), in words; `None` when it will do."""
    if not secret:
        return "is missing"
    if "://" in secret:
        secret = urlsplit(secret).password or ""
        if not secret:
            return "has no password"
    if len(secret) < 16 and any(sample in secret.lower() for sample in SAMPLES):
        return "is a sample"
    if len(set(secret)) < 4:
        return "is a sample"
    return "is shorter than 12 characters" if len(secret) < 12 else None


def _sentences(cls: type[BaseSettings], wrong: ValidationError) -> list[str]:
    fields = cls.model_fields
    lines: list[str] = []
    for error in wrong.errors(include_input=False, include_url=False):
        name = str(error["loc"][0]) if error["loc"] else cls.__name__
        shown = env_names(name, fields[name])[0] if name in fields else name
        lines.append(f"{shown}: {error['msg']}")
    return lines
