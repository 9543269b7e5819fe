"""Settings by level, with where each value comes from; secrets masked, always."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Body
from pydantic import BaseModel, Field, JsonValue

from chassis import logs, user_settings
from chassis.errors import Refused
from chassis.sealing import refusal_of
from chassis.setting_rows import Kind, Level, Row, Source
from chassis.settings import MASK
from contracts import rpc
from contracts.settings import SettingLevel
from contracts.subjects import RPC_SETTINGS
from gateway.answers import forbidden, invalid
from gateway.auth import Caller
from gateway.http import Routes
from gateway.parts import CallerOf, Parts, PartsOf
from gateway.questions import ask
from gateway.routes.providers import may_administrate
from gateway.settings import GatewaySettings
from store.repositories import setting_changes
from store.repositories import settings as choices
from store.system import settings as deployment
from store.system.settings import SavedSetting, setting_context
from vault import VaultError

log = logs.get(__name__)
routes = Routes("settings")

_LONGEST_SECRET = 4000

Value = str | int | float | bool | None


class SettingOut(BaseModel):
    name: str = Field(description="What PATCH calls it; `user.…` is yours, all else the deployment's.")
    env: str = Field(description="The environment variable that says the same; empty: none does.")
    level: Level
    group: str
    value: Value = Field(description="Of a secret only that there is one.")
    source: Source
    unit: str
    description: str
    kind: Kind
    choices: list[str]
    default: Value
    restart: bool = Field(description="A change takes effect with the next start of the service (`retinue restart`).")
    editable: bool


class SettingList(BaseModel):
    items: list[SettingOut]


@routes.get("/api/settings", scope="read")
async def list_settings(caller: CallerOf, parts: PartsOf) -> SettingList:
    """Your own, and for an admin the deployment's: each with its value and where that comes from."""
    theirs = await _theirs(parts, caller, {}) if may_administrate(caller) else None
    return await _listed(parts, caller, theirs)


@routes.patch("/api/settings", scope="chat", errors=(403, 409))
async def change_settings(
    changes: Annotated[
        dict[str, JsonValue],
        Body(
            description="Name: value; null goes back to the environment or the default. All of them or none.",
            examples=[{"user.model": "openai/gpt-5-mini"}],
        ),
    ],
    caller: CallerOf,
    parts: PartsOf,
) -> SettingList:
    """Saves values. Those of the deployment are an admin's; a wrong one changes nothing and is named (422)."""
    mine = {
        name.removeprefix(user_settings.PREFIX): value
        for name, value in changes.items()
        if name.startswith(user_settings.PREFIX)
    }
    shared = {name: value for name, value in changes.items() if not name.startswith(user_settings.PREFIX)}
    if shared and not may_administrate(caller):
        raise forbidden("Settings of the deployment are an admin's.", fields=sorted(shared))
    wrong = {user_settings.PREFIX + name: fault for name, fault in user_settings.faults_of(mine).items()}
    theirs = await _theirs(parts, caller, {}) if may_administrate(caller) else None
    if shared and theirs is not None:
        wrong |= await _faults(parts, caller, shared, theirs)
    if wrong:
        raise _refusal(wrong)
    await _save(parts, caller, mine, shared, theirs)
    if shared:
        await parts.saved.refresh()
        theirs = await _theirs(parts, caller, {})
    return await _listed(parts, caller, theirs)


async def _save(
    parts: Parts, caller: Caller, mine: dict[str, Any], shared: dict[str, Any], theirs: rpc.SettingsTable | None
) -> None:
    """One transaction for each level; the user's commits first and only if the deployment's is ready to."""
    messages: list[Any] = []
    if shared:
        sealed = {name: await _sealed(parts, name, value, theirs) for name, value in shared.items()}
        async with parts.store.system() as session:
            await deployment.save(session, sealed, caller.user_id)
            messages.append(await setting_changes.tell_changed(session, caller.user_id, SettingLevel.DEPLOYMENT))
            if mine:
                messages.append(await _save_mine(parts, caller, mine))
        log.info("settings saved", names=sorted(shared))
    elif mine:
        messages.append(await _save_mine(parts, caller, mine))
    parts.relay.after_commit(messages)


async def _save_mine(parts: Parts, caller: Caller, mine: dict[str, Any]) -> Any:
    async with parts.store.session(caller.user_id) as session:
        return await setting_changes.save_of_user(session, caller.user_id, mine)


async def _sealed(parts: Parts, name: str, value: Any, theirs: rpc.SettingsTable | None) -> SavedSetting | None:
    if value is None:
        return None
    if name not in _secrets(parts, theirs):
        return SavedSetting(name, value)
    try:
        return SavedSetting(name, sealed=await parts.vault.seal(str(value).encode(), setting_context(name)))
    except VaultError as wrong:
        log.error("nothing can be sealed", reason=str(wrong))
        raise refusal_of(wrong) from None


async def _theirs(parts: Parts, caller: Caller, changes: Mapping[str, Any]) -> rpc.SettingsTable:
    """What the runner says of its settings, and of these changes."""
    wish = rpc.SettingsWish(changes=dict(changes))
    return await ask(RPC_SETTINGS, parts, caller.user_id, wish, rpc.SettingsTable)


async def _faults(parts: Parts, caller: Caller, shared: Mapping[str, Any], theirs: rpc.SettingsTable) -> dict[str, str]:
    """A name that two services know must suit both; one that neither knows is wrong. No secret goes over the bus."""
    secret = _secrets(parts, theirs)
    shown = {name: MASK if name in secret and value else value for name, value in shared.items()}
    ours = {name: value for name, value in shown.items() if name in GatewaySettings.model_fields}
    asked = {name: shown[name] for row in theirs.rows if (name := row["name"]) in shown}
    unknown = {name: "There is no such setting." for name in shared if name not in ours and name not in asked}
    odd = {
        name: "must be one line of text"
        for name, value in shared.items()
        if name in secret and value is not None and not _is_line(value)
    }
    told = (await _theirs(parts, caller, asked)).wrong if asked else {}
    return {**unknown, **told, **GatewaySettings.faults_of(ours), **odd}


def _secrets(parts: Parts, theirs: rpc.SettingsTable | None) -> set[str]:
    """Names of settings whose values are sealed."""
    rows = [*(row.as_dict() for row in parts.saved.table()), *(theirs.rows if theirs else ())]
    return {row["name"] for row in rows if row["kind"] == "secret"}


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_SECRET and value.isprintable()


def _refusal(wrong: Mapping[str, str]) -> Refused:
    fields = [{"field": name, "message": fault} for name, fault in wrong.items()]
    first = fields[0]
    return invalid(f"{first['field']}: {first['message']}", field=first["field"], fields=fields)


async def _listed(parts: Parts, caller: Caller, theirs: rpc.SettingsTable | None) -> SettingList:
    async with parts.store.session(caller.user_id) as session:
        chosen = await choices.of_user(session)
    items = [_shown(row.as_dict()) for row in user_settings.table(chosen)]
    if theirs is not None:
        first: dict[str, dict[str, Any]] = {}
        for row in (*map(Row.as_dict, parts.saved.table()), *theirs.rows):
            first.setdefault(row["name"], row)
        items += [_shown(row) for row in first.values()]
    return SettingList(items=items)


def _shown(row: dict[str, Any]) -> SettingOut:
    return SettingOut(**{**row, "value": _plain(row["value"]), "default": _plain(row["default"])})


def _plain(value: Any) -> Value:
    """Lists as people write them."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
