"""What an admin saved for the whole deployment, and whether somebody is an admin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from store.models import DeploymentSetting, Provider, User
from store.store import Session


@dataclass(frozen=True, slots=True)
class SavedSetting:
    """`value` of a plain one, `sealed` of a secret."""

    name: str
    value: Any = None
    sealed: bytes | None = field(default=None, repr=False)

    @property
    def context(self) -> str:
        """What it is sealed for."""
        return setting_context(self.name)


def setting_context(name: str) -> str:
    return f"setting/{name}"


async def saved(session: Session) -> list[SavedSetting]:
    rows = await session.execute(select(DeploymentSetting.name, DeploymentSetting.value, DeploymentSetting.sealed))
    return [SavedSetting(*row) for row in rows]


async def changed_at(session: Session) -> tuple[datetime | None, int]:
    """A mark that is another one whenever something was saved or forgotten."""
    row = (await session.execute(select(func.max(DeploymentSetting.updated_at), func.count()))).one()
    return row[0], row[1]


async def save(session: Session, changes: Mapping[str, SavedSetting | None], by: UUID | None) -> None:
    """Keeps these, forgets those that are None."""
    for name, setting in changes.items():
        if setting is None:
            await session.execute(delete(DeploymentSetting).where(DeploymentSetting.name == name))
            continue
        values = {"value": setting.value, "sealed": setting.sealed, "updated_by": by}
        saving = insert(DeploymentSetting).values(name=name, **values)
        await session.execute(
            saving.on_conflict_do_update(
                index_elements=[DeploymentSetting.name], set_={**values, "updated_at": func.now()}
            )
        )


async def is_admin(session: Session, user_id: UUID) -> bool:
    """Whether this is an account that may do what concerns everybody."""
    return bool(await session.scalar(select(User.is_admin).where(User.id == user_id, User.disabled_at.is_(None))))


async def an_admin(session: Session) -> UUID | None:
    """The first admin: in whose name an operator at the command line does something."""
    admins = select(User.id).where(User.is_admin, User.disabled_at.is_(None))
    return await session.scalar(admins.order_by(User.created_at, User.id).limit(1))


async def all_sealed(session: Session) -> list[tuple[str, Any, bytes]]:
    """Everything that is sealed: which table, which row, and the bytes. For rotation."""
    named = select(DeploymentSetting.name, DeploymentSetting.sealed).where(DeploymentSetting.sealed.is_not(None))
    keyed = select(Provider.id, Provider.key_sealed).where(Provider.key_sealed.is_not(None))
    found: list[tuple[str, Any, bytes]] = []
    for table, query in (("deployment_settings", named), ("providers", keyed)):
        for row, sealed in await session.execute(query):
            found.append((table, row, sealed or b""))
    return found


async def put_sealed(session: Session, table: str, row: Any, old: bytes, new: bytes) -> bool:
    """Exchanges sealed bytes, unless somebody saved something else meanwhile; whether it did."""
    if table == "providers":
        exchange = update(Provider).where(Provider.id == row, Provider.key_sealed == old).values(key_sealed=new)
    else:
        mine = (DeploymentSetting.name == row, DeploymentSetting.sealed == old)
        exchange = update(DeploymentSetting).where(*mine).values(sealed=new)
    return (await session.execute(exchange)).rowcount > 0
