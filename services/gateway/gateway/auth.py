"""Who is calling: a session cookie or a bearer token, looked up once and believed for a few seconds."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from starlette.datastructures import Headers

from gateway.answers import unauthorized
from gateway.cookies import SessionCookie
from gateway.settings import GatewaySettings
from store import Store
from store.credentials import SCOPES, digest
from store.system import callers

Scope = Literal["chat", "read", "mcp", "admin", "approve"]

_MOST_REMEMBERED = 10_000
_EXTEND_AFTER = timedelta(hours=12)
"""A session in use is extended when its end was set longer ago than this: one write in half a day, not per request."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user behind a request, and what the credential they showed allows."""

    user_id: UUID
    username: str
    is_admin: bool
    scopes: frozenset[str]
    via: Literal["session", "token"]
    credential: bytes = field(repr=False)
    """Digest of the cookie or token."""
    is_expired: bool = False
    """A session past its time, within the grace in which it may still read a running stream."""
    was_extended: bool = False
    """This request moved the session's end: its cookie is to be set again."""

    def may(self, scopes: Iterable[str]) -> bool:
        """Whether any of these scopes is among the caller's."""
        return not self.scopes.isdisjoint(scopes)


@dataclass(slots=True)
class _Remembered:
    caller: Caller
    until: float


class Authenticator:
    """Finds callers. A logout or revocation here is honoured here at once, elsewhere after the cache's seconds."""

    def __init__(self, store: Store, settings: GatewaySettings, cookie: SessionCookie) -> None:
        self._store = store
        self._cookie = cookie
        self._believe = settings.auth_cache
        self._lifetime = timedelta(days=settings.session_days)
        self._grace = timedelta(seconds=settings.expired_grace)
        self._remembered: dict[bytes, _Remembered] = {}

    def has_cookie(self, headers: Headers) -> bool:
        """Whether the caller would be known by a cookie."""
        return "authorization" not in headers and self._cookie.read(headers) is not None

    async def identify(self, headers: Headers) -> Caller | None:
        """The caller, or none without credentials or with a cookie that opens nothing.

        Raises `Refused` (401) for a bearer token that is unknown or revoked: who shows one means to use it.
        """
        authorization = headers.get("authorization")
        if authorization is not None:
            scheme, _, token = authorization.partition(" ")
            caller = await self._find(token.strip(), "token") if scheme.lower() == "bearer" else None
            if caller is None:
                raise unauthorized("This token is not valid.")
            return caller
        code = self._cookie.read(headers)
        return await self._find(code, "session") if code else None

    def forget(self, credential: bytes) -> None:
        """A session or token has ended."""
        self._remembered.pop(credential, None)

    def forget_user(self, user_id: UUID) -> None:
        """Everything of a user has ended, or what they may do has changed."""
        for credential in [key for key, entry in self._remembered.items() if entry.caller.user_id == user_id]:
            self.forget(credential)

    async def _find(self, code: str, via: Literal["session", "token"]) -> Caller | None:
        credential = digest(code)
        entry = self._remembered.get(credential)
        if entry is not None and entry.until > time.monotonic() and entry.caller.via == via:
            return entry.caller
        found = await (self._session(credential) if via == "session" else self._token(credential))
        if found is None:
            self.forget(credential)
            return None
        self._remember(replace(found, was_extended=False))
        return found

    def _remember(self, caller: Caller) -> None:
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.pop(next(iter(self._remembered)))
        self._remembered[caller.credential] = _Remembered(caller, time.monotonic() + self._believe)

    async def _session(self, credential: bytes) -> Caller | None:
        async with self._store.statement() as session:
            owner = await callers.session_owner(session, credential, self._grace)
            if owner is None:
                return None
            left = owner.expires_at - datetime.now(UTC)
            extend = not owner.is_expired and left < self._lifetime - min(_EXTEND_AFTER, self._lifetime / 2)
            if extend:
                await callers.extend_session(session, credential, self._lifetime)
        account = owner.account
        scopes = frozenset(SCOPES) if account.is_admin else frozenset(SCOPES) - {"admin"}
        return Caller(
            account.id, account.username, account.is_admin, scopes, "session", credential, owner.is_expired, extend
        )

    async def _token(self, credential: bytes) -> Caller | None:
        async with self._store.statement() as session:
            owner = await callers.token_owner(session, credential)
        if owner is None:
            return None
        account = owner.account
        # An admin's token loses that scope when its owner is no admin any more.
        scopes = frozenset(owner.scopes) if account.is_admin else frozenset(owner.scopes) - {"admin"}
        return Caller(account.id, account.username, account.is_admin, scopes, "token", credential)
