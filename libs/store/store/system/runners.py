"""Runners: who is alive, and what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from store.store import Session


@dataclass(frozen=True, slots=True)
class HeldTurn:
    """A row that is `running` under a runner's id, as its heartbeat finds it."""

    turn_id: UUID
    epoch: int
    stop_requested_at: datetime | None


_BEAT = text("""
    insert into runners (id, name, slots, alive_until)
    values (:id, :name, :slots, clock_timestamp() + make_interval(secs => :lease))
    on conflict (id) do update set alive_until = excluded.alive_until, slots = excluded.slots
""")

_HELD = text("select id, epoch, stop_requested_at from turns where runner_id = :id and status = 'running'")

_LEAVE = text("delete from runners where id = :id")

_BURY = text("delete from runners where alive_until < clock_timestamp() - interval '1 day'")


async def beat(session: Session, runner_id: UUID, *, name: str, slots: int, lease: float) -> list[HeldTurn]:
    """Keeps the runner alive for `lease` seconds from now, and returns the turns that Postgres says it runs."""
    await session.execute(_BEAT, {"id": runner_id, "name": name, "slots": slots, "lease": lease})
    rows = await session.execute(_HELD, {"id": runner_id})
    return [HeldTurn(row.id, row.epoch, row.stop_requested_at) for row in rows]


async def leave(session: Session, runner_id: UUID) -> None:
    """A runner says good-bye: what it still holds is swept at once, not when its lease ends."""
    await session.execute(_LEAVE, {"id": runner_id})


async def bury(session: Session) -> None:
    """Forgets runners that have been dead for a day."""
    await session.execute(_BURY)
