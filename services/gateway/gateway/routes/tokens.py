"""API tokens: made with scopes, shown once, listed, revoked."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints

from chassis.errors import Refused
from gateway.answers import forbidden, missing
from gateway.auth import Caller, Scope
from gateway.http import Routes
from gateway.parts import CallerOf, PartsOf
from store.credentials import DEFAULT_SCOPES, TOKEN_PREFIX, digest, random_code
from store.repositories import accounts
from store.repositories.accounts import TokenInfo

routes = Routes("tokens")

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class TokenWish(BaseModel):
    name: Name = Field(examples=["laptop"])
    scopes: list[Scope] | None = Field(
        None, min_length=1, max_length=5, description="By default chat, read and mcp, as far as the caller has them."
    )


class TokenOut(BaseModel):
    id: UUID
    name: str
    scopes: list[Scope]
    created_at: datetime
    used_at: datetime | None = Field(description="Last use, to the minute.")


class NewToken(TokenOut):
    token: str = Field(description="Shown here and never again.")


class TokenList(BaseModel):
    items: list[TokenOut]


@routes.post("/api/tokens", scope="chat", status_code=201, errors=(409,))
async def create_token(wish: TokenWish, caller: CallerOf, parts: PartsOf) -> NewToken:
    """Makes a token. It can do no more than the caller can."""
    scopes = _granted(caller, wish.scopes)
    token = random_code(TOKEN_PREFIX)
    async with parts.store.session(caller.user_id) as session:
        limit = parts.settings.tokens_per_user
        if await accounts.count_tokens(session) >= limit:
            raise Refused(409, "too_many_tokens", f"You have {limit} tokens; revoke one first.", limit=limit)
        made = await accounts.create_token(session, caller.user_id, wish.name, digest(token), scopes)
    return NewToken(token=token, **_shown(made).model_dump())


@routes.get("/api/tokens", scope="read")
async def list_tokens(caller: CallerOf, parts: PartsOf) -> TokenList:
    """Your tokens, oldest first; without the tokens themselves."""
    async with parts.store.session(caller.user_id) as session:
        return TokenList(items=[_shown(token) for token in await accounts.list_tokens(session)])


@routes.delete("/api/tokens/{token_id}", scope="chat", status_code=204, errors=(404,))
async def revoke_token(token_id: UUID, caller: CallerOf, parts: PartsOf) -> None:
    """Ends a token, at once in this process and within seconds in others."""
    async with parts.store.session(caller.user_id) as session:
        revoked = await accounts.revoke_token(session, token_id)
    if revoked is None:
        raise missing()
    parts.auth.forget(revoked)


def _granted(caller: Caller, wanted: list[Scope] | None) -> list[str]:
    if wanted is None:
        return [scope for scope in DEFAULT_SCOPES if scope in caller.scopes]
    if beyond := [scope for scope in wanted if scope not in caller.scopes]:
        raise forbidden(f"You cannot grant what you do not have: {', '.join(beyond)}.", "scope_missing", scopes=beyond)
    return list(dict.fromkeys(wanted))


def _shown(token: TokenInfo) -> TokenOut:
    return TokenOut.model_validate(token, from_attributes=True)
