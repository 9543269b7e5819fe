"""Providers of models and their sealed keys: a user's own under that user's session, the deployment's under the
system's. Every query names the owner, because the system's session sees both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from contracts.ids import uuid7
from store.models import Provider
from store.store import Session


class NameTaken(Exception):
    """The owner has another provider of this name."""


@dataclass(frozen=True, slots=True)
class SavedProvider:
    id: UUID
    user_id: UUID | None
    name: str
    kind: str
    base_url: str | None
    key_sealed: bytes | None = field(repr=False)
    key_hint: str | None
    updated_at: datetime

    @property
    def context(self) -> str:
        """What its key is sealed for."""
        return key_context(self.id)


def key_context(provider_id: UUID) -> str:
    return f"provider/{provider_id}"


_COLUMNS: tuple[Any, ...] = tuple(getattr(Provider, name) for name in SavedProvider.__slots__)


async def list_of(session: Session, owner: UUID | None) -> list[SavedProvider]:
    """The owner's, in the order in which their defaults are taken; none as owner is the deployment."""
    rows = await session.execute(
        select(*_COLUMNS).where(_owned_by(owner)).order_by(Provider.position, Provider.created_at, Provider.id)
    )
    return [SavedProvider(*row) for row in rows]


async def get(session: Session, owner: UUID | None, provider_id: UUID) -> SavedProvider | None:
    row = (await session.execute(select(*_COLUMNS).where(_owned_by(owner), Provider.id == provider_id))).first()
    return None if row is None else SavedProvider(*row)


async def add(
    session: Session,
    owner: UUID | None,
    *,
    provider_id: UUID | None = None,
    name: str,
    kind: str,
    base_url: str | None,
    key_sealed: bytes | None,
    key_hint: str | None,
) -> SavedProvider:
    """After the others of its owner. Raises `NameTaken`."""
    last = select(func.coalesce(func.max(Provider.position), -1) + 1).where(_owned_by(owner)).scalar_subquery()
    values = {"name": name, "kind": kind, "base_url": base_url, "key_sealed": key_sealed, "key_hint": key_hint}
    adding: Any = insert(Provider).values(id=provider_id or uuid7(), user_id=owner, position=last, **values)
    try:
        async with session.begin_nested():
            row = (await session.execute(adding.returning(*_COLUMNS))).one()
    except IntegrityError as taken:
        raise NameTaken(name) from taken
    return SavedProvider(*row)


async def change(
    session: Session, owner: UUID | None, provider_id: UUID, changes: Mapping[str, Any]
) -> SavedProvider | None:
    """`changes` by column: name, kind, base_url, key_sealed with key_hint. None if there is no such one.

    Raises `NameTaken`.
    """
    mine = (_owned_by(owner), Provider.id == provider_id)
    changing: Any = update(Provider).where(*mine).values(updated_at=func.now(), **changes)
    try:
        async with session.begin_nested():
            row = (await session.execute(changing.returning(*_COLUMNS))).first()
    except IntegrityError as taken:
        raise NameTaken(str(changes.get("name"))) from taken
    return None if row is None else SavedProvider(*row)


async def remove(session: Session, owner: UUID | None, provider_id: UUID) -> bool:
    """Whether there was such a provider."""
    removed = await session.execute(delete(Provider).where(_owned_by(owner), Provider.id == provider_id))
    return removed.rowcount > 0


def _owned_by(owner: UUID | None) -> ColumnElement[bool]:
    return Provider.user_id.is_(None) if owner is None else Provider.user_id == owner
