"""What everybody used, for administrators: amounts, never what was talked about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from store.repositories import usage
from store.repositories.usage import Used
from store.store import Session

ByEverybody = Literal["day", "agent", "model", "user"]
"""Not by thread: titles are private."""


async def used_by_everybody(session: Session, by: ByEverybody, edges: Sequence[datetime], most: int) -> Used:
    """See `store.repositories.usage.used`."""
    return await usage.used(session, by, edges, most)
