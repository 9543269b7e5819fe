"""Who serves models: providers with keys, of the deployment and of users; tried, found, and a model fetched."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints
from starlette.responses import Response

from chassis import logs
from chassis.errors import Busy, Refused
from chassis.sealing import refusal_of
from contracts import rpc
from contracts.ids import uuid7
from contracts.settings import SettingLevel
from contracts.subjects import RPC_FOUND, RPC_KEY_TEST, RPC_PROVIDERS, RPC_PULL, RPC_PULL_STOP
from gateway.answers import forbidden, missing
from gateway.auth import Caller
from gateway.http import Routes
from gateway.parts import CallerOf, Parts, PartsOf
from gateway.progress import ProgressStream
from gateway.provider_wishes import (
    KINDS,
    KindInfo,
    checked_address,
    checked_key,
    checked_name,
    demand,
    free_name,
    hint_of,
    kind_of,
)
from gateway.questions import ask, follow
from gateway.throttle import Rule
from store.repositories import providers as rows
from store.repositories import setting_changes
from store.repositories.providers import NameTaken, SavedProvider
from vault import VaultError

log = logs.get(__name__)
routes = Routes("providers")

Scope = Literal["deployment", "user"]
Name = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, min_length=1, max_length=40)]
Address = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)]
Key = Annotated[str, StringConstraints(strip_whitespace=True, max_length=1000)]
Model = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^\S+$")]

_ADDRESS = "Where it is; an admin's to say. Null: the kind's own address."


class KindOut(BaseModel):
    kind: str
    title: str
    needs_key: bool
    needs_address: bool
    key_page: str | None = Field(description="Where a person gets a key.")


class ProviderOut(BaseModel):
    id: UUID | None = Field(description="Null: the environment says so, and nothing here changes it.")
    name: str = Field(description="The prefix of its models' ids.")
    kind: str
    base_url: str | None
    key: str | None = Field(description="The end of its key; null: none, or not yours to see.")
    source: Literal["environment", "saved"]
    scope: Scope
    models: int | None = Field(description="How many it lists; null: it could not be asked.")
    error: str | None


class ProviderList(BaseModel):
    items: list[ProviderOut]
    may_add_own: bool
    kinds: list[KindOut]


class ProviderWish(BaseModel):
    name: Name | None = Field(None, description="By default its kind, with a number where that is taken.")
    kind: str
    base_url: Address | None = Field(None, description=_ADDRESS)
    key: Key | None = None
    scope: Scope


class ProviderChange(BaseModel):
    name: Name | None = None
    base_url: Address | None = Field(None, description=_ADDRESS)
    key: Key | None = Field(None, description="Another key; null: none.")


class KeyTest(BaseModel):
    id: UUID | None = Field(None, description="A saved provider; or, without it, what would be one:")
    kind: str = ""
    base_url: Address | None = None
    key: Key | None = None


class KeyTestOut(BaseModel):
    ok: bool
    models: list[str]
    error: str | None = Field(description="What is wrong, in one sentence.")
    took_ms: int


class FoundOut(BaseModel):
    kind: str
    base_url: str
    title: str
    models: list[str]


class FoundList(BaseModel):
    items: list[FoundOut]


class PullWish(BaseModel):
    provider: Name
    model: Model


def may_administrate(caller: Caller) -> bool:
    """Whether this credential may do what concerns everybody."""
    return caller.may(("admin",))


@routes.get("/api/providers", scope="read")
async def list_providers(caller: CallerOf, parts: PartsOf) -> ProviderList:
    """Those that serve you, in the order in which their defaults are taken, and an admin all of the deployment."""
    is_admin = may_administrate(caller)
    try:
        asked = await ask(RPC_PROVIDERS, parts, caller.user_id, rpc.ProvidersWish(), rpc.Providers)
        states, fault = asked.items, None
    except Busy as away:  # what is saved can be looked at and removed all the same
        states, fault = (), away.message
    by_id = {state.id: state for state in states if state.id is not None}
    saved = [*await _rows(parts, caller, "user"), *(await _rows(parts, caller, "deployment") if is_admin else ())]
    items = [_out(row, by_id.get(row.id), fault) for row in saved]
    known = {row.id for row in saved}
    items += [_told(state, is_admin) for state in states if state.id is None or state.id not in known]
    may_add = is_admin or parts.settings.own_keys
    return ProviderList(items=items, may_add_own=may_add, kinds=[_kind(info) for info in KINDS.values()])


@routes.post("/api/providers", scope="chat", status_code=201, errors=(403, 409))
async def add_provider(wish: ProviderWish, caller: CallerOf, parts: PartsOf) -> ProviderOut:
    """Adds one: for everybody (an admin), or a key of your own, which serves and pays for your turns only."""
    info, key, address = kind_of(wish.kind), checked_key(wish.key or ""), wish.base_url or ""
    _refuse_scope(parts, caller, wish.scope, info, address)
    demand(info, key, address)
    provider_id = uuid7()
    values: dict[str, Any] = {
        "kind": info.kind,
        "base_url": checked_address(address) if address else None,
        **await _sealed(parts, provider_id, key),
    }
    owner = _owner(caller, wish.scope)
    async with _session(parts, caller, wish.scope) as session:
        there = await rows.list_of(session, owner)
        limit = parts.settings.providers_per_owner
        if len(there) >= limit:
            setting = "RETINUE_PROVIDERS_PER_OWNER"
            raise Refused(
                409, "too_many", f"There are {limit} already; remove one first.", limit=limit, setting=setting
            )
        name = checked_name(wish.name) if wish.name else free_name(info.kind, {row.name for row in there})
        try:
            made = await rows.add(session, owner, provider_id=provider_id, name=name, **values)
        except NameTaken:
            raise _taken(name) from None
        message = await setting_changes.tell_changed(session, caller.user_id, _level(wish.scope), provider_id)
    _changed(parts, caller, message, "added", made)
    return _out(made, None, None)


@routes.patch("/api/providers/{provider_id}", scope="chat", errors=(403, 404, 409))
async def change_provider(provider_id: UUID, change: ProviderChange, caller: CallerOf, parts: PartsOf) -> ProviderOut:
    """Another name, key or address. What is not named stays."""
    row = await _found(parts, caller, provider_id)
    scope: Scope = "deployment" if row.user_id is None else "user"
    given, info = change.model_fields_set, kind_of(row.kind)
    values: dict[str, Any] = {}
    if "name" in given and change.name is not None:
        values["name"] = checked_name(change.name)
    if "base_url" in given:
        _refuse_scope(parts, caller, scope, info, change.base_url or "")
        values["base_url"] = checked_address(change.base_url) if change.base_url else None
    if "key" in given:
        values |= await _sealed(parts, provider_id, checked_key(change.key or ""))
    has_key = bool(values.get("key_hint", row.key_hint))
    demand(info, "set" if has_key else "", values.get("base_url", row.base_url) or "")
    async with _session(parts, caller, scope) as session:
        try:
            made = await rows.change(session, row.user_id, provider_id, values)
        except NameTaken as taken:
            raise _taken(str(taken)) from None
        if made is None:
            raise missing("provider")
        message = await setting_changes.tell_changed(session, caller.user_id, _level(scope), provider_id)
    _changed(parts, caller, message, "changed", made)
    return _out(made, None, None)


@routes.delete("/api/providers/{provider_id}", scope="chat", status_code=204, errors=(404,))
async def remove_provider(provider_id: UUID, caller: CallerOf, parts: PartsOf) -> None:
    """Removes it and its key."""
    row = await _found(parts, caller, provider_id)
    scope: Scope = "deployment" if row.user_id is None else "user"
    async with _session(parts, caller, scope) as session:
        if not await rows.remove(session, row.user_id, provider_id):
            raise missing("provider")
        message = await setting_changes.tell_changed(session, caller.user_id, _level(scope), provider_id)
    _changed(parts, caller, message, "removed", row)


@routes.post("/api/providers/test", scope="chat", errors=(403, 404, 409))
async def test_provider(test: KeyTest, caller: CallerOf, parts: PartsOf) -> KeyTestOut:
    """Asks the provider for its models. Nothing is saved; what is wrong comes back as a sentence, with `ok` false."""
    limit = parts.settings.key_tests_per_user
    await parts.throttle.hit(Rule("key_tests_per_user", limit, 60.0, limit), str(caller.user_id))
    wish = rpc.KeyTestWish(provider_id=test.id)
    if test.id is None:
        info, key, address = kind_of(test.kind), checked_key(test.key or ""), test.base_url or ""
        _refuse_scope(parts, caller, "deployment" if may_administrate(caller) else "user", info, address)
        demand(info, key, address)
        sealed = await _seal(parts, key, rpc.TEST_KEY_CONTEXT.format(user_id=caller.user_id)) if key else b""
        wish = rpc.KeyTestWish(
            kind=info.kind,
            base_url=checked_address(address) if address else "",
            sealed_key=base64.b64encode(sealed).decode(),
        )
    tested = await ask(RPC_KEY_TEST, parts, caller.user_id, wish, rpc.KeyTested)
    return KeyTestOut(ok=tested.ok, models=list(tested.models), error=tested.error, took_ms=tested.took_ms)


@routes.get("/api/providers/found", scope="admin")
async def find_servers(caller: CallerOf, parts: PartsOf) -> FoundList:
    """Servers of models that answer at the usual addresses (RETINUE_LOCAL_SERVERS) and are no providers yet."""
    found = await ask(RPC_FOUND, parts, caller.user_id, rpc.FoundWish(), rpc.Found)
    return FoundList(items=[FoundOut.model_validate(each, from_attributes=True) for each in found.items])


_PROGRESS: dict[int | str, dict[str, object]] = {
    200: {
        "description": "Server-sent events, each {status, completed, total, error} with sizes in bytes; the last one's "
        "status is `success`, `error` or `stopped`.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@routes.post("/api/ollama/pull", scope="admin", errors=(404, 409), response_class=Response, responses=_PROGRESS)
async def pull_model(wish: PullWish, caller: CallerOf, parts: PartsOf) -> Response:
    """Fetches a model into an Ollama and tells how far it is. It goes on when you leave; asking again joins it."""
    body = rpc.PullWish(provider=wish.provider, model=wish.model)
    progress = follow(RPC_PULL, parts, caller.user_id, body, rpc.PullProgress)
    first = await anext(progress)  # what is refused is an answer of its own, not an event
    return ProgressStream(first, progress)


@routes.delete("/api/ollama/pull", scope="admin", status_code=204, errors=(400, 413, 415, 422))
async def stop_pull(wish: PullWish, caller: CallerOf, parts: PartsOf) -> None:
    """Stops fetching it, whoever began. What came so far is kept for the next time."""
    body = rpc.PullWish(provider=wish.provider, model=wish.model)
    await parts.asker.tell(RPC_PULL_STOP, body, user_id=caller.user_id)


def _refuse_scope(parts: Parts, caller: Caller, scope: Scope, info: KindInfo, address: str) -> None:
    if scope == "deployment":
        if not may_administrate(caller):
            raise forbidden("Only an admin may set up providers for everybody.")
        return
    if not parts.settings.own_keys:
        raise forbidden("Keys of your own are turned off here.", setting="RETINUE_OWN_KEYS")
    if address or info.needs_address:
        raise forbidden("Addresses of providers are an admin's to say.")


async def _found(parts: Parts, caller: Caller, provider_id: UUID) -> SavedProvider:
    """The caller's own, or one of the deployment's for an admin."""
    async with parts.store.session(caller.user_id) as session:
        row = await rows.get(session, caller.user_id, provider_id)
    if row is None and may_administrate(caller):
        async with parts.store.system() as session:
            row = await rows.get(session, None, provider_id)
    if row is None:
        raise missing("provider")
    return row


async def _rows(parts: Parts, caller: Caller, scope: Scope) -> list[SavedProvider]:
    async with _session(parts, caller, scope) as session:
        return await rows.list_of(session, _owner(caller, scope))


def _session(parts: Parts, caller: Caller, scope: Scope) -> Any:
    """A transaction in which providers of this scope exist."""
    return parts.store.system() if scope == "deployment" else parts.store.session(caller.user_id)


def _owner(caller: Caller, scope: Scope) -> UUID | None:
    return None if scope == "deployment" else caller.user_id


def _level(scope: Scope) -> SettingLevel:
    return SettingLevel.DEPLOYMENT if scope == "deployment" else SettingLevel.USER


async def _sealed(parts: Parts, provider_id: UUID, key: str) -> dict[str, Any]:
    if not key:
        return {"key_sealed": None, "key_hint": None}
    sealed = await _seal(parts, key, rows.key_context(provider_id))
    return {"key_sealed": sealed, "key_hint": hint_of(key)}


async def _seal(parts: Parts, key: str, context: str) -> bytes:
    try:
        return await parts.vault.seal(key.encode(), context)
    except VaultError as wrong:
        log.error("nothing can be sealed", reason=str(wrong))
        raise refusal_of(wrong) from None


def _changed(parts: Parts, caller: Caller, message: Any, what: str, row: SavedProvider) -> None:
    parts.relay.after_commit([message])
    log.info(f"provider {what}", provider_id=row.id, kind=row.kind, scope="user" if row.user_id else "deployment")


def _taken(name: str) -> Refused:
    return Refused(409, "name_taken", f"There is a provider {name} already.", field="name")


def _kind(info: KindInfo) -> KindOut:
    return KindOut.model_validate(info, from_attributes=True)


def _out(row: SavedProvider, state: rpc.ProviderState | None, fault: str | None) -> ProviderOut:
    return ProviderOut(
        id=row.id,
        name=row.name,
        kind=row.kind,
        base_url=row.base_url,
        key=row.key_hint,
        source="saved",
        scope="deployment" if row.user_id is None else "user",
        models=state.models if state else None,
        error=state.error if state else fault,
    )


def _told(state: rpc.ProviderState, is_admin: bool) -> ProviderOut:
    """One that only the runner knows of (the environment's), or that is the deployment's and shown to a user."""
    return ProviderOut(
        id=state.id if is_admin else None,
        name=state.name,
        kind=state.kind,
        base_url=state.base_url if is_admin else None,
        key=state.key_hint if is_admin else None,
        source=state.source,
        scope="user" if state.is_own else "deployment",
        models=state.models,
        error=state.error,
    )
