"""A user's own API tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func, insert, select, update

from contracts.ids import uuid7
from store.models import ApiToken
from store.store import Session


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token as its owner sees it later: everything but the token."""

    id: UUID
    name: str
    scopes: Sequence[str]
    created_at: datetime
    used_at: datetime | None


async def create_token(
    session: Session, user_id: UUID, name: str, token_hash: bytes, scopes: Sequence[str]
) -> TokenInfo:
    token_id = uuid7()
    await session.execute(
        insert(ApiToken).values(id=token_id, user_id=user_id, name=name, token_hash=token_hash, scopes=list(scopes))
    )
    return (await token_info(session, ApiToken.id == token_id))[0]


async def list_tokens(session: Session) -> list[TokenInfo]:
    return await token_info(session, ApiToken.revoked_at.is_(None))


async def count_tokens(session: Session) -> int:
    return await session.scalar(select(func.count()).where(ApiToken.revoked_at.is_(None))) or 0


async def revoke_token(session: Session, token_id: UUID) -> bytes | None:
    """The hash of the token that ended here, or none if there is no such token (any more)."""
    return (
        await session.execute(
            update(ApiToken)
            .where(ApiToken.id == token_id, ApiToken.revoked_at.is_(None))
            .values(revoked_at=func.now())
            .returning(ApiToken.token_hash)
        )
    ).scalar_one_or_none()


async def token_info(session: Session, condition: ColumnElement[bool]) -> list[TokenInfo]:
    columns = (ApiToken.id, ApiToken.name, ApiToken.scopes, ApiToken.created_at, ApiToken.used_at)
    rows = await session.execute(
        select(*columns).where(condition, ApiToken.revoked_at.is_(None)).order_by(ApiToken.created_at, ApiToken.id)
    )
    return [TokenInfo(row.id, row.name, tuple(row.scopes), row.created_at, row.used_at) for row in rows]
