"""Registering, signing in and out, and who one is."""

from __future__ import annotations

from datetime import timedelta
from importlib.metadata import version
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from chassis import logs, metrics
from chassis.errors import Refused
from gateway.answers import forbidden, invalid
from gateway.auth import Caller, Scope
from gateway.http import Routes
from gateway.parts import CallerOf, MaybeCaller, Parts, PartsOf
from gateway.registration import registered
from gateway.throttle import Rule
from store import credentials
from store.credentials import digest, hash_password, is_outdated, password_matches, random_code
from store.system import accounts, callers
from store.system.accounts import Account

log = logs.get(__name__)
routes = Routes("accounts")

_LOGINS = metrics.counter("retinue_logins_total", "logins that were decided by the password", ("outcome",))

# Checked when there is nothing to check against, so that an unknown name takes as long as a wrong password.
_NOBODY = hash_password("nobody has this password")


class Credentials(BaseModel):
    username: str = Field(max_length=200, examples=["ada"])
    password: str = Field(max_length=1000, examples=["a long sentence"])


class Registration(Credentials):
    invite: str | None = Field(None, max_length=200, description="An invitation, or the set-up code.")


class UserOut(BaseModel):
    id: UUID
    username: str
    is_admin: bool


class UserAnswer(BaseModel):
    user: UserOut


class Me(UserAnswer):
    via: Literal["session", "token"]
    scopes: list[Scope] = Field(description="What the credential of this request allows.")


class Config(BaseModel):
    registration: Literal["open", "invite", "closed"] = Field(
        description="Who may register now. While nobody has an account it says what the first one needs."
    )
    needs_setup: bool = Field(description="Nobody has an account yet; the first one becomes the administrator.")
    version: str
    user: UserOut | None = Field(description="Who is signed in; saves a page from asking for it and meeting a 401.")


@routes.get("/api/config", auth="optional")
async def get_config(caller: MaybeCaller, parts: PartsOf) -> Config:
    """What a page needs to know before anyone signs in, and whether somebody is."""
    async with parts.store.system() as session:
        is_new = not await accounts.has_accounts(session)
    first = "invite" if parts.settings.production else "open"
    return Config(
        registration=first if is_new else parts.settings.registration_mode,
        needs_setup=is_new,
        version=version("retinue-gateway"),
        user=None if caller is None else _user(caller),
    )


@routes.post("/api/auth/register", auth="none", status_code=201, errors=(409,))
async def register(wish: Registration, parts: PartsOf, request: Request, response: Response) -> UserAnswer:
    """Makes an account with its default agent and signs it in."""
    rule = Rule("register", parts.settings.registrations_per_address, parts.settings.register_window, 20)
    await parts.throttle.hit(rule, parts.addresses.of(request))
    try:
        username = credentials.checked_username(wish.username)
        credentials.check_password(wish.password)
    except credentials.Unfit as unfit:
        raise invalid(str(unfit)) from None
    account = await registered(parts, username, wish.password, wish.invite)
    log.info("registered", user_id=account.id, is_admin=account.is_admin)
    return await _signed_in(parts, account, response)


@routes.post("/api/auth/login", auth="none", errors=(401,))
async def login(wish: Credentials, parts: PartsOf, request: Request, response: Response) -> UserAnswer:
    """Signs in. A wrong password and an unknown name look alike, and take as long."""
    settings, key, address = parts.settings, credentials.username_key(wish.username), parts.addresses.of(request)
    by_name = Rule("login", settings.login_per_username, settings.login_window, settings.login_when_away)
    by_address = Rule("login_address", settings.login_per_address, settings.login_window, settings.login_when_away * 4)
    await parts.throttle.hit(by_address, address)
    await parts.throttle.hit(by_name, key)
    account = await _proven(parts, key, wish.password)
    _LOGINS.labels(outcome="refused" if account is None else "signed_in").inc()
    if account is None:
        raise Refused(401, "wrong_credentials", "User name or password is wrong.")
    await parts.throttle.clear(by_name, key)
    await parts.throttle.take_back(by_address, address)
    return await _signed_in(parts, account, response)


@routes.post("/api/auth/logout", auth="optional", status_code=204)
async def logout(caller: MaybeCaller, parts: PartsOf, response: Response) -> None:
    """Ends the session of this cookie, at once in this process and within seconds in others."""
    if caller is not None and caller.via == "token":
        raise forbidden("A token is revoked, not logged out: DELETE /api/tokens/{id}.")
    if caller is not None:
        async with parts.store.system() as session:
            await callers.end_session(session, caller.credential)
        parts.auth.forget(caller.credential)
    parts.cookie.clear(response)


@routes.get("/api/me")
async def get_me(caller: CallerOf) -> Me:
    """Who is calling, and what the credential allows."""
    return Me.model_validate({"user": _user(caller), "via": caller.via, "scopes": sorted(caller.scopes)})


def _user(caller: Caller) -> UserOut:
    return UserOut(id=caller.user_id, username=caller.username, is_admin=caller.is_admin)


async def _proven(parts: Parts, username_key: str, password: str) -> Account | None:
    async with parts.store.system() as session:
        found = await accounts.login_by_name(session, username_key)
    kept = found.password_hash if found else _NOBODY
    matches = await parts.passwords.run(password_matches, kept, password)
    if found is None or not matches or found.account.is_disabled:
        return None
    if is_outdated(kept):
        anew = await parts.passwords.run(hash_password, password)
        async with parts.store.system() as session:
            await accounts.set_password(session, found.account.id, anew, end_sessions=False)
    return found.account


async def _signed_in(parts: Parts, account: Account, response: Response) -> UserAnswer:
    code = random_code()
    lifetime = timedelta(days=parts.settings.session_days)
    async with parts.store.system() as session:
        await callers.start_session(session, account.id, digest(code), lifetime)
    parts.cookie.set(response, code)
    return UserAnswer(user=UserOut(id=account.id, username=account.username, is_admin=account.is_admin))
