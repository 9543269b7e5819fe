"""Accounts across users: made, found by name, listed; and their tokens, as an operator sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from contracts.ids import uuid7
from store.models import Agent, ApiToken, User
from store.models import Session as SessionRow
from store.repositories.accounts import TokenInfo, token_info
from store.store import Session

_FIRST_ACCOUNT_LOCK = 0x7265_7469_6163_6374  # "retiacct"


class UsernameTaken(Exception):
    """Another account has this name, or one that folds to the same key."""


@dataclass(frozen=True, slots=True)
class Account:
    id: UUID
    username: str
    is_admin: bool
    created_at: datetime
    is_disabled: bool


@dataclass(frozen=True, slots=True)
class Login:
    """An account with what proves it."""

    account: Account
    password_hash: str


ACCOUNT = (User.id, User.username, User.is_admin, User.created_at, User.disabled_at)
"""The columns that `account_of` wants in a row."""


def account_of(row: Row[*tuple[Any, ...]]) -> Account:
    return Account(row.id, row.username, row.is_admin, row.created_at, row.disabled_at is not None)


async def login_by_name(session: Session, username_key: str) -> Login | None:
    found = (
        await session.execute(select(*ACCOUNT, User.password_hash).where(User.username_key == username_key))
    ).first()
    return Login(account_of(found), found.password_hash) if found else None


async def lock_first_account(session: Session) -> bool:
    """Whether nobody has an account yet; until the transaction ends, no other registration asks the same."""
    await session.execute(select(func.pg_advisory_xact_lock(_FIRST_ACCOUNT_LOCK)))
    return not await has_accounts(session)


async def has_accounts(session: Session) -> bool:
    return bool(await session.scalar(select(select(User.id).exists())))


async def create_account(
    session: Session, *, username: str, username_key: str, password_hash: str, is_admin: bool
) -> Account:
    """A new account with its default agent. Raises `UsernameTaken`."""
    user_id = uuid7()
    try:
        async with session.begin_nested():
            made = (
                await session.execute(
                    insert(User)
                    .values(
                        id=user_id,
                        username=username,
                        username_key=username_key,
                        password_hash=password_hash,
                        is_admin=is_admin,
                    )
                    .returning(*ACCOUNT)
                )
            ).one()
    except IntegrityError as taken:
        raise UsernameTaken(username) from taken
    await session.execute(insert(Agent).values(id=uuid7(), user_id=user_id, name="Assistant", is_default=True))
    return account_of(made)


async def list_accounts(session: Session) -> list[Account]:
    return [account_of(row) for row in await session.execute(select(*ACCOUNT).order_by(User.created_at, User.id))]


async def set_password(session: Session, user_id: UUID, password_hash: str, *, end_sessions: bool) -> None:
    """Another password; with `end_sessions` whoever is signed in has to sign in again."""
    await session.execute(update(User).where(User.id == user_id).values(password_hash=password_hash))
    if end_sessions:
        await session.execute(delete(SessionRow).where(SessionRow.user_id == user_id))


async def create_token(session: Session, user_id: UUID, name: str, token_hash: bytes, scopes: Sequence[str]) -> UUID:
    token_id = uuid7()
    await session.execute(
        insert(ApiToken).values(id=token_id, user_id=user_id, name=name, token_hash=token_hash, scopes=list(scopes))
    )
    return token_id


async def list_tokens(session: Session, user_id: UUID) -> list[TokenInfo]:
    return await token_info(session, ApiToken.user_id == user_id)


async def revoke_token(session: Session, token_id: UUID) -> bool:
    """Whether there was such a token, not yet revoked."""
    revoked = await session.execute(
        update(ApiToken).where(ApiToken.id == token_id, ApiToken.revoked_at.is_(None)).values(revoked_at=func.now())
    )
    return revoked.rowcount > 0
