"""Saving what a user chose, and saying that settings or providers changed: the gateway's, and an operator's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func
from sqlalchemy.dialects.postgresql import insert

from contracts.settings import SettingLevel, SettingsChanged
from store import outbox
from store.models import UserSetting
from store.outbox import OutboxMessage
from store.store import Session


async def save_of_user(session: Session, user_id: UUID, changes: Mapping[str, Any]) -> OutboxMessage:
    """Keeps these values; None forgets one."""
    kept = {name: value for name, value in changes.items() if value is not None}
    forgotten = [name for name in changes if name not in kept]
    if kept:
        rows = [{"user_id": user_id, "name": name, "value": value} for name, value in kept.items()]
        saving = insert(UserSetting).values(rows)
        await session.execute(
            saving.on_conflict_do_update(
                index_elements=[UserSetting.user_id, UserSetting.name],
                set_={"value": saving.excluded.value, "updated_at": func.now()},
            )
        )
    if forgotten:
        await session.execute(delete(UserSetting).where(UserSetting.name.in_(forgotten)))
    return await tell_changed(session, user_id, SettingLevel.USER)


async def tell_changed(
    session: Session, user_id: UUID, level: SettingLevel, provider_id: UUID | None = None
) -> OutboxMessage:
    """Writes the fact, in the transaction that made it true."""
    message = outbox.of_event(SettingsChanged(user_id=user_id, level=level, provider_id=provider_id))
    await outbox.write(session, [message])
    return message
