"""Codes to register with: invitations, and the set-up code of the first account."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import delete, func, insert, update

from store.models import Invite
from store.store import Session
from store.system.accounts import lock_first_account


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


async def remove_expired_invites(session: Session) -> int:
    """Removes codes that ended a day ago or more; returns how many."""
    removed = await session.execute(delete(Invite).where(Invite.expires_at < func.now() - timedelta(days=1)))
    return removed.rowcount
