"""What a user's turns used: sums over the ledger, by day, agent, model or thread.

A turn counts when it ends. Costs are millionths of a dollar; of calls whose cost nobody knows only the number is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import text

from store.store import Session

By = Literal["day", "agent", "model", "thread", "user", "all"]


@dataclass(frozen=True, slots=True)
class Sums:
    turns: int = 0
    attempts: int = 0
    """Model calls."""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_micros: int = 0
    unknown_cost: int = 0
    """Model calls whose cost nobody knows; it is not in `cost_micros`."""


@dataclass(frozen=True, slots=True)
class Group:
    key: str
    """An id or a model's name; of days, the number of the day from 1."""
    label: str
    sums: Sums


@dataclass(frozen=True, slots=True)
class Used:
    groups: list[Group]
    left_out: int
    """Groups beyond the limit: those that cost and said least."""
    total: Sums


_KEYS: dict[By, tuple[str, str, str]] = {
    "day": ("width_bucket(l.ended_at, cast(:edges as timestamptz[]))::text", "''", ""),
    "agent": ("l.agent_id::text", "max(a.name)", "left join agents a on a.id = l.agent_id"),
    "model": ("coalesce(l.model_asked, '')", "coalesce(l.model_asked, '')", ""),
    "thread": ("l.thread_id::text", "max(coalesce(t.title, t.preview))", "left join threads t on t.id = l.thread_id"),
    "user": ("l.user_id::text", "max(u.username)", "left join users u on u.id = l.user_id"),
    "all": ("''::text", "''", ""),
}
"""What makes a group, what it is called, and where that is found."""

_USED = """
    select {key} as key, {label} as label, count(*) as turns, sum(l.attempts) as attempts,
        sum(l.input_tokens) as input_tokens, sum(l.cached_tokens) as cached_tokens,
        sum(l.output_tokens) as output_tokens, sum(l.reasoning_tokens) as reasoning_tokens,
        sum(l.cost_micros) as cost_micros, sum(l.unpriced) as unknown_cost, count(*) over () as groups
    from ledger l {found}
    where l.ended_at >= :first and l.ended_at < :last and cast(:edges as timestamptz[]) is not null
    group by 1{also}
    order by sum(l.cost_micros) desc nulls last, sum(l.output_tokens) desc nulls last, 1
    limit :most
"""


async def used(session: Session, by: By, edges: Sequence[datetime], most: int) -> Used:
    """From the first of these moments to the last; between two of them is a day. At most `most` groups, and at least
    every day. As a user, theirs; as the system, everybody's.
    """
    groups, left_out = await _groups(session, by, edges, max(most, len(edges)) if by == "day" else most)
    (whole,) = (await _groups(session, "all", edges, 1))[0] or [Group("", "", Sums())]
    return Used(groups, left_out, whole.sums)


async def _groups(session: Session, by: By, edges: Sequence[datetime], most: int) -> tuple[list[Group], int]:
    key, label, found = _KEYS[by]
    also = ", 2" if by == "model" else ""
    statement = text(_USED.format(key=key, label=label, found=found, also=also))
    values: dict[str, Any] = {"edges": list(edges), "first": edges[0], "last": edges[-1], "most": most}
    rows = (await session.execute(statement, values)).all()
    left_out = rows[0].groups - len(rows) if rows else 0
    return [Group(row.key, row.label or "", _sums(row)) for row in rows], left_out


def _sums(row: Any) -> Sums:
    return Sums(**{name: int(getattr(row, name) or 0) for name in Sums.__slots__})
