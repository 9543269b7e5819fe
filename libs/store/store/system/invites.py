"""Codes to register with: invitations, and the set-up code of the first account."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, func, insert, literal_column, select, update

from store.models import Invite, User
from store.store import Session
from store.system.accounts import lock_first_account

_ID_LENGTH = 16
_ID = func.left(func.encode(Invite.code_hash, "hex"), _ID_LENGTH)

# A code that makes administrators and is older than the first account is a set-up code: with that account it has
# done its work, whoever made it and however, or an old terminal's scrollback would be a way in.
_FIRST_ACCOUNT_AT = select(func.min(User.created_at)).scalar_subquery()
_IS_SPENT_SETUP_CODE = Invite.grants_admin & (
    Invite.created_at <= func.coalesce(_FIRST_ACCOUNT_AT, literal_column("'-infinity'::timestamptz"))
)
_OPENS = Invite.used_at.is_(None) & (Invite.expires_at > func.now()) & ~_IS_SPENT_SETUP_CODE


@dataclass(frozen=True, slots=True)
class InviteInfo:
    """An invitation without its code; `used_by` is a user name."""

    id: str
    grants_admin: bool
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    used_by: str | None
    is_open: bool


def invite_id(code_hash: bytes) -> str:
    """What an invitation is called: the beginning of its digest, which opens nothing."""
    return code_hash.hex()[:_ID_LENGTH]


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
    """Uses a code up: whether it grants admin, or none if there is no such code, or it is used or past its time.

    A set-up code is past its time once there is an account.
    """
    return (
        await session.execute(
            update(Invite)
            .where(Invite.code_hash == code_hash, _OPENS)
            .values(used_at=func.now())
            .returning(Invite.grants_admin)
        )
    ).scalar_one_or_none()


async def note_invited(session: Session, code_hash: bytes, user_id: UUID) -> None:
    """Who came with this code."""
    await session.execute(update(Invite).where(Invite.code_hash == code_hash).values(used_by=user_id))


async def list_invites(session: Session) -> list[InviteInfo]:
    """Every code that was not tidied away yet, the oldest first."""
    rows = await session.execute(
        select(_ID, Invite.grants_admin, Invite.created_at, Invite.expires_at, Invite.used_at, User.username, _OPENS)
        .outerjoin(User, User.id == Invite.used_by)
        .order_by(Invite.created_at)
    )
    return [InviteInfo(*row) for row in rows]


async def revoke_invite(session: Session, ids: Iterable[str]) -> bool:
    """Whether one of these was an invitation that nobody had used."""
    revoked = await session.execute(delete(Invite).where(_ID.in_(list(ids)), Invite.used_at.is_(None)))
    return revoked.rowcount > 0


async def remove_expired_invites(session: Session) -> int:
    """Removes codes that ended a day ago or more; returns how many."""
    removed = await session.execute(delete(Invite).where(Invite.expires_at < func.now() - timedelta(days=1)))
    return removed.rowcount
