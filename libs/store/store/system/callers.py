"""Who is calling, asked before a user is known: who holds this cookie or this token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, func, insert, select, text, update

from store.models import ApiToken, User
from store.models import Session as SessionRow
from store.store import Session
from store.system.accounts import ACCOUNT, Account, account_of


@dataclass(frozen=True, slots=True)
class SessionOwner:
    account: Account
    expires_at: datetime
    is_expired: bool
    """Past its time, though within the grace that was asked for."""


@dataclass(frozen=True, slots=True)
class TokenOwner:
    account: Account
    token_id: UUID
    scopes: Sequence[str]


async def session_owner(session: Session, token_hash: bytes, grace: timedelta) -> SessionOwner | None:
    """The owner of a session that is valid, or ended less than `grace` ago; none for disabled accounts."""
    found = (
        await session.execute(
            select(*ACCOUNT, SessionRow.expires_at, (SessionRow.expires_at <= func.now()).label("is_expired"))
            .join(User, User.id == SessionRow.user_id)
            .where(
                SessionRow.token_hash == token_hash,
                SessionRow.expires_at > func.now() - grace,
                User.disabled_at.is_(None),
            )
        )
    ).first()
    return SessionOwner(account_of(found), found.expires_at, found.is_expired) if found else None


async def extend_session(session: Session, token_hash: bytes, lifetime: timedelta) -> None:
    """The session is used: it now lasts for `lifetime` from here."""
    await session.execute(
        update(SessionRow)
        .where(SessionRow.token_hash == token_hash, SessionRow.expires_at > func.now())
        .values(seen_at=func.now(), expires_at=func.now() + lifetime)
    )


async def token_owner(session: Session, token_hash: bytes) -> TokenOwner | None:
    """The owner of an API token that is not revoked; notes its use, at most once a minute. One statement."""
    is_valid = (ApiToken.token_hash == token_hash, ApiToken.revoked_at.is_(None))
    used = (
        update(ApiToken)
        .where(*is_valid, ApiToken.user_id.in_(select(User.id).where(User.disabled_at.is_(None))))
        .where(func.coalesce(ApiToken.used_at, text("'-infinity'")) < func.now() - timedelta(minutes=1))
        .values(used_at=func.now())
        .returning(ApiToken.id)
        .cte("used")
    )
    found = (
        await session.execute(
            select(*ACCOUNT, ApiToken.id.label("token_id"), ApiToken.scopes)
            .join(User, User.id == ApiToken.user_id)
            .where(*is_valid, User.disabled_at.is_(None))
            .add_cte(used)
        )
    ).first()
    return TokenOwner(account_of(found), found.token_id, tuple(found.scopes)) if found else None


async def start_session(session: Session, user_id: UUID, token_hash: bytes, lifetime: timedelta) -> None:
    await session.execute(
        insert(SessionRow).values(token_hash=token_hash, user_id=user_id, expires_at=func.now() + lifetime)
    )


async def end_session(session: Session, token_hash: bytes) -> None:
    await session.execute(delete(SessionRow).where(SessionRow.token_hash == token_hash))


async def end_expired_sessions(session: Session, grace: timedelta) -> int:
    """Removes sessions that ended longer ago than `grace`; returns how many."""
    ended = await session.execute(delete(SessionRow).where(SessionRow.expires_at < func.now() - grace))
    return ended.rowcount
