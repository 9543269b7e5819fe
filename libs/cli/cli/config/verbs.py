"""The verbs of `retinue config`: show, set, unset."""

from __future__ import annotations

import asyncio
import getpass
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from cli.accounts.database import AsJson, DataDir, run
from cli.config.keys_of import vault_of
from cli.config.tables import Setting, settings_of
from cli.up.refusal import Refused
from contracts.settings import SettingLevel
from store import Session
from store.repositories import setting_changes
from store.system import settings as rows
from store.system.settings import SavedSetting, setting_context
from vault import VaultError

app = typer.Typer(help="Show every setting, or save one for the deployment.", invoke_without_command=True)

Name = Annotated[str, typer.Argument(help="Its name or its variable: model, RETINUE_MODEL.")]


@app.callback()
def show(context: typer.Context, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show the effective settings of all services: value, where it comes from, what it is; secrets masked."""
    if context.invoked_subcommand is not None:
        return
    found = settings_of(data_dir, _saved(data_dir))
    if as_json:
        print(json.dumps([setting.as_dict() for setting in found], indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("variable", "value", "from", "services", "what it does"):
        table.add_column(heading, overflow="fold")
    for setting in found:
        row = setting.row
        value = "" if row["value"] is None else f"{row['value']}{' ' + row['unit'] if row['unit'] else ''}"
        table.add_row(row["env"], value, row["source"], ", ".join(sorted(setting.rows)), row["description"])
    Console(markup=False, highlight=False, soft_wrap=not sys.stdout.isatty()).print(table)


@app.command("set")
def save(
    name: Name,
    value: Annotated[str | None, typer.Argument(help="Without it: asked for, or read from stdin.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Save a value for the deployment: it wins over the environment."""
    saved = _saved(data_dir, must=True)
    if value is None:
        asked = _named(name, settings_of(data_dir, saved))
        value = _asked(asked, asked.row["kind"] == "secret")
    setting = _named(name, settings_of(data_dir, saved, {name: value}))
    if setting.wrong:
        raise Refused(f"{setting.row['env']}: {'; '.join(setting.wrong)}.")
    given, is_secret = _typed(setting, value), setting.row["kind"] == "secret"
    change = asyncio.run(_sealed(setting, str(given), data_dir)) if is_secret else SavedSetting(setting.name, given)
    _write(data_dir, setting.name, change)
    print(f"{setting.row['env']} is saved{_when(setting)}.")


@app.command("unset")
def forget(name: Name, data_dir: DataDir = None) -> None:
    """Forget a saved value: the environment counts again, or the default."""
    saved = _saved(data_dir, must=True)
    setting = _named(name, settings_of(data_dir, saved))
    if not any(each.name == setting.name for each in saved):
        raise Refused(f"{setting.row['env']} is not saved: its value comes from {_origin(setting)}.")
    _write(data_dir, setting.name, None)
    print(f"{setting.row['env']} is no longer saved{_when(setting)}.")


def _saved(data_dir: Path | None, *, must: bool = False) -> list[SavedSetting]:
    """What is saved; where the database cannot be asked, nothing, and a word about it."""
    try:
        return run(data_dir, rows.saved)
    except Refused as away:
        if must:
            raise
        print(f"Without what is saved: {away}", file=sys.stderr)
        return []


def _named(name: str, found: list[Setting]) -> Setting:
    for setting in found:
        if name in (setting.name, *(row["env"] for row in setting.rows.values())):
            if not setting.row["editable"]:
                raise Refused(f"{setting.row['env']} is set by the environment alone.")
            return setting
    raise Refused(f"There is no setting {name!r}; `retinue config` lists them.")


def _asked(setting: Setting, is_secret: bool) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    prompt = f"{setting.row['env']}: "
    return getpass.getpass(prompt) if is_secret else input(prompt)


def _typed(setting: Setting, given: str) -> Any:
    """As its kind is written in JSON; what does not fit stays text, and is refused by the service."""
    if setting.row["kind"] in ("number", "boolean"):
        try:
            return json.loads(given)
        except ValueError:
            return given
    return given


async def _sealed(setting: Setting, value: str, data_dir: Path | None) -> SavedSetting:
    async with vault_of(data_dir) as vault:
        try:
            sealed = await vault.seal(value.encode(), setting_context(setting.name))
        except VaultError as wrong:
            raise Refused(f"Nothing can be sealed: {wrong}.") from None
    return SavedSetting(setting.name, sealed=sealed)


def _write(data_dir: Path | None, name: str, change: SavedSetting | None) -> None:
    async def work(session: Session) -> None:
        admin = await rows.an_admin(session)
        await rows.save(session, {name: change}, admin)
        if admin is not None:  # without any account there is nobody to tell; services look by themselves
            await setting_changes.tell_changed(session, admin, SettingLevel.DEPLOYMENT)

    run(data_dir, work)


def _when(setting: Setting) -> str:
    if any(row["restart"] for row in setting.rows.values()):
        return "; it counts with the next start of its services (`retinue restart`)"
    return "; services take it over at once"


def _origin(setting: Setting) -> str:
    return {"default": "the default", "environment": "the environment"}.get(setting.row["source"], "somewhere else")
