"""Promotion: which waiting turns may run now.

Only `queued` turns are on the bus, so nobody's thousand turns delay another's first. Lock order: thread row, then an
advisory lock of the user; turns of *other* threads only if their thread row can be locked at once.

The deployment's last free place goes to somebody who has none yet: to a first turn at the door, else by the sweep, to
whoever has fewest. Without that rule an end would hand its place to the next turn of the same user, for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from store.outbox import OutboxMessage, wake_up
from store.store import Session


@dataclass(frozen=True, slots=True)
class Limits:
    """How many turns may be queued or running at once."""

    per_user: int = 4
    total: int = 0
    """For the deployment; 0 means the slots of the runners that are alive. Soft."""
    waiting_per_thread: int = 10
    waiting_per_user: int = 1000


USER_LOCK = "pg_advisory_xact_lock(hashtextextended('promote:' || :user, 0)) is null as locked"
"""For the `returning` of the update that locks the thread's row: it is evaluated after that, in the lock order, and
the statements that follow see what whoever had the lock before has committed."""

_LOCK_USER = text(f"select {USER_LOCK}")

COUNT_ROOM = """
    select count(*) filter (where parent_turn_id is null and status <> 'waiting') as active,
           (select case when :total > 0 then :total - c.active
                        when c.slots > 0 then c.slots - c.active
                        else :per_user + 1 end  -- no runner is up yet: do not hold back what will run first
            from retinue_capacity() c) as deployment,
           count(*) filter (where status = 'waiting' and thread_id is not distinct from cast(:thread as uuid)) as here,
           count(*) filter (where status = 'waiting' and thread_id is distinct from cast(:thread as uuid)) as elsewhere
    from turns where user_id = :user and status in ('waiting', 'queued', 'running')
"""
"""A row as `Room.of` takes it; only under the user's lock."""

_ROOM = text(COUNT_ROOM)

_QUEUE_OWN = text("""
    update turns set status = 'queued', queued_at = clock_timestamp()
    where id = (
        select id from turns w
        where thread_id = :thread and status = 'waiting' and not exists (
            select from turns a where a.thread_id = w.thread_id and a.status in ('queued', 'running'))
        order by accepted_at, id limit 1)
    returning id, thread_id, traceparent
""")

# The oldest waiting turn of each idle thread; whose thread is locked by another is left to the sweep.
_QUEUE_OTHERS = text("""
    with idle as (
        select distinct on (w.thread_id) w.id, w.thread_id, w.accepted_at
        from turns w
        where w.user_id = :user and w.status = 'waiting' and w.thread_id is distinct from cast(:thread as uuid)
          and not exists (
            select from turns a where a.thread_id = w.thread_id and a.status in ('queued', 'running'))
        order by w.thread_id, w.accepted_at, w.id
    ), chosen as (
        select i.id from idle i join threads t on t.id = i.thread_id
        order by i.accepted_at limit :room
        for no key update of t skip locked
    )
    update turns set status = 'queued', queued_at = clock_timestamp()
    from chosen where turns.id = chosen.id and turns.status = 'waiting'
    returning turns.id, turns.thread_id, turns.traceparent
""")


@dataclass(slots=True)
class Room:
    """What may be queued now."""

    active: int
    """Turns of the user that are queued or running, or were until this moment."""
    mine: int
    """How many more the user's limit allows."""
    deployment: int
    """How many more the deployment's allows."""
    here: int
    """Turns that wait in the thread that was asked about."""
    elsewhere: int

    @classmethod
    def of(cls, row: Any, limits: Limits) -> Room:
        return cls(row.active, limits.per_user - row.active, row.deployment, row.here, row.elsewhere)

    @property
    def free(self) -> int:
        """How many may be queued; the deployment's last place only for somebody who has none."""
        is_last_mine = not self.active and self.deployment == 1
        return max(0, min(self.mine, self.deployment if is_last_mine else self.deployment - 1))

    @property
    def waiting(self) -> int:
        return self.here + self.elsewhere

    def take(self, turns: int = 1) -> None:
        """So many have been queued."""
        self.active += turns
        self.mine -= turns
        self.deployment -= turns


async def room(
    session: Session, user_id: UUID, thread_id: UUID | None, limits: Limits, *, is_locked: bool = False
) -> Room:
    """Locks the user's promotion until the transaction ends, unless an earlier statement has, and counts."""
    if not is_locked:
        await session.execute(_LOCK_USER, {"user": str(user_id)})
    parameters = {"user": user_id, "thread": thread_id, "per_user": limits.per_user, "total": limits.total}
    return Room.of((await session.execute(_ROOM, parameters)).one(), limits)


async def promote(
    session: Session, user_id: UUID, thread_id: UUID | None, limits: Limits, *, is_locked: bool = False
) -> dict[UUID, OutboxMessage]:
    """After an end, queues what may run now: this thread's oldest, whose row the caller has locked, then others.

    Returns each turn that became `queued` with its wake-up, which the caller writes to the outbox.
    """
    left = await room(session, user_id, thread_id, limits, is_locked=is_locked)
    left.active += 1  # what has ended had a place, and others may wait for it
    return await fill(session, user_id, thread_id, left)


async def promote_next(session: Session, user_id: UUID, limits: Limits) -> dict[UUID, OutboxMessage]:
    """Queues one turn of the user if there is any room at all: the sweep's fair share, which may be the last place."""
    left = await room(session, user_id, None, limits)
    return await _queue_others(session, user_id, None, min(left.mine, left.deployment, 1))


async def fill(session: Session, user_id: UUID, thread_id: UUID | None, left: Room) -> dict[UUID, OutboxMessage]:
    """Queues what fits into the room that is left; see `promote`."""
    queued: dict[UUID, OutboxMessage] = {}
    if left.here and left.free > 0:
        for row in await session.execute(_QUEUE_OWN, {"thread": thread_id}):
            queued[row.id] = wake_up(user_id, row.thread_id, row.id, row.traceparent)
    left.take(len(queued))
    if left.elsewhere:
        queued |= await _queue_others(session, user_id, thread_id, left.free)
    return queued


async def _queue_others(
    session: Session, user_id: UUID, thread_id: UUID | None, most: int
) -> dict[UUID, OutboxMessage]:
    if most <= 0:
        return {}
    rows = await session.execute(_QUEUE_OTHERS, {"user": user_id, "thread": thread_id, "room": most})
    return {row.id: wake_up(user_id, row.thread_id, row.id, row.traceparent) for row in rows}
