"""What a user chose for themselves."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from store.models import UserSetting
from store.store import Session


async def of_user(session: Session) -> dict[str, Any]:
    """The saved values of the session's user, by name."""
    rows = await session.execute(select(UserSetting.name, UserSetting.value))
    return {row.name: row.value for row in rows}
