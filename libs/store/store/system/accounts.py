"""Accounts before a user is known: who holds this cookie or token, who may register, and what an operator does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from contracts.ids import uuid7
from store.models import Agent, ApiToken, Invite, User
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


_ACCOUNT = (User.id, User.username, User.is_admin, User.created_at, User.disabled_at)


# Who is calling ------------------------------------------------------------------------------------------------------


async def session_owner(session: Session, token_hash: bytes, grace: timedelta) -> SessionOwner | None:
    """The owner of a session that is valid, or ended less than `grace` ago; none for disabled accounts."""
    found = (
        await session.execute(
            select(*_ACCOUNT, SessionRow.expires_at, (SessionRow.expires_at <= func.now()).label("is_expired"))
            .join(User, User.id == SessionRow.user_id)
            .where(
                SessionRow.token_hash == token_hash,
                SessionRow.expires_at > func.now() - grace,
                User.disabled_at.is_(None),
            )
        )
    ).first()
    return SessionOwner(_account(found), found.expires_at, found.is_expired) if found else None


async def extend_session(session: Session, token_hash: bytes, lifetime: timedelta) -> None:
    """The session is used: it now lasts for `lifetime` from here."""
    await session.execute(
        update(SessionRow)
        .where(SessionRow.token_hash == token_hash, SessionRow.expires_at > func.now())
        .values(seen_at=func.now(), expires_at=func.now() + lifetime)
    )


async def token_owner(session: Session, token_hash: bytes) -> TokenOwner | None:
    """The owner of an API token that is not revoked; notes its use, at most once a minute."""
    found = (
        await session.execute(
            select(*_ACCOUNT, ApiToken.id.label("token_id"), ApiToken.scopes)
            .join(User, User.id == ApiToken.user_id)
            .where(ApiToken.token_hash == token_hash, ApiToken.revoked_at.is_(None), User.disabled_at.is_(None))
        )
    ).first()
    if found is None:
        return None
    await session.execute(
        update(ApiToken)
        .where(
            ApiToken.id == found.token_id,
            func.coalesce(ApiToken.used_at, text("'-infinity'")) < func.now() - timedelta(minutes=1),
        )
        .values(used_at=func.now())
    )
    return TokenOwner(_account(found), found.token_id, tuple(found.scopes))


# Coming and going ----------------------------------------------------------------------------------------------------


async def login_by_name(session: Session, username_key: str) -> Login | None:
    found = (
        await session.execute(select(*_ACCOUNT, User.password_hash).where(User.username_key == username_key))
    ).first()
    return Login(_account(found), found.password_hash) if found else None


async def start_session(session: Session, user_id: UUID, token_hash: bytes, lifetime: timedelta) -> None:
    await session.execute(
        insert(SessionRow).values(token_hash=token_hash, user_id=user_id, expires_at=func.now() + lifetime)
    )


async def end_session(session: Session, token_hash: bytes) -> None:
    await session.execute(delete(SessionRow).where(SessionRow.token_hash == token_hash))


async def end_expired_sessions(session: Session, grace: timedelta) -> int:
    """Removes sessions that ended longer ago than `grace`, and invitations that ended a day ago; returns how many."""
    sessions = await session.execute(delete(SessionRow).where(SessionRow.expires_at < func.now() - grace))
    invites = await session.execute(delete(Invite).where(Invite.expires_at < func.now() - timedelta(days=1)))
    return sessions.rowcount + invites.rowcount


# Accounts ------------------------------------------------------------------------------------------------------------


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
                    .returning(*_ACCOUNT)
                )
            ).one()
    except IntegrityError as taken:
        raise UsernameTaken(username) from taken
    await session.execute(insert(Agent).values(id=uuid7(), user_id=user_id, name="Assistant", is_default=True))
    return _account(made)


async def list_accounts(session: Session) -> list[Account]:
    return [_account(row) for row in await session.execute(select(*_ACCOUNT).order_by(User.created_at, User.id))]


async def set_password(session: Session, user_id: UUID, password_hash: str, *, end_sessions: bool) -> None:
    """Another password; with `end_sessions` whoever is signed in has to sign in again."""
    await session.execute(update(User).where(User.id == user_id).values(password_hash=password_hash))
    if end_sessions:
        await session.execute(delete(SessionRow).where(SessionRow.user_id == user_id))


# Invitations ---------------------------------------------------------------------------------------------------------


async def create_invite(
    session: Session, code_hash: bytes, *, grants_admin: bool, lifetime: timedelta, created_by: UUID | None = None
) -> datetime:
    """A code that one account may be made with; returns when it ends. With `grants_admin` it is a set-up code."""
    return (
        await session.execute(
            insert(Invite)
            .values(
                code_hash=code_hash,
                grants_admin=grants_admin,
                created_by=created_by,
                expires_at=func.now() + lifetime,
            )
            .returning(Invite.expires_at)
        )
    ).scalar_one()


async def replace_setup_code(session: Session, code_hash: bytes, lifetime: timedelta) -> bool:
    """A new set-up code instead of any earlier one; False, and nothing changes, once there is an account."""
    if not await lock_first_account(session):
        return False
    await session.execute(
        delete(Invite).where(Invite.grants_admin, Invite.created_by.is_(None), Invite.used_at.is_(None))
    )
    await create_invite(session, code_hash, grants_admin=True, lifetime=lifetime)
    return True


async def take_invite(session: Session, code_hash: bytes) -> bool | None:
    """Uses a code up: whether it grants admin, or none if there is no such code, or it is used or past its time."""
    return (
        await session.execute(
            update(Invite)
            .where(Invite.code_hash == code_hash, Invite.used_at.is_(None), Invite.expires_at > func.now())
            .values(used_at=func.now())
            .returning(Invite.grants_admin)
        )
    ).scalar_one_or_none()


async def note_invited(session: Session, code_hash: bytes, user_id: UUID) -> None:
    """Who came with this code."""
    await session.execute(update(Invite).where(Invite.code_hash == code_hash).values(used_by=user_id))


# Tokens, as an operator sees them ------------------------------------------------------------------------------------


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


def _account(row: object) -> Account:
    return Account(
        id=row.id,  # type: ignore[attr-defined]
        username=row.username,  # type: ignore[attr-defined]
        is_admin=row.is_admin,  # type: ignore[attr-defined]
        created_at=row.created_at,  # type: ignore[attr-defined]
        is_disabled=row.disabled_at is not None,  # type: ignore[attr-defined]
    )
