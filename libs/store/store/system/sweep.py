"""The sweep: brings back what fell between two stools. Small batches, `SKIP LOCKED`, safe in every runner at once.

A turn whose runner died is failed here with an end batch ("interrupted"), so that nobody waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import text

from contracts.turns import TurnRequested, TurnStatus
from store import outbox
from store.outbox import OutboxMessage, of_event
from store.store import Session
from store.turns.closing import close_turn
from store.turns.promotion import Limits, promote, promote_next

BATCH = 50
"""Turns that one pass of one kind takes at most; the next second takes the next."""

INTERRUPTED: dict[str, Any] = {
    "error": "interrupted",
    "message": "The answer was interrupted because the process that wrote it ended. Please try again.",
}


@dataclass(slots=True)
class Swept:
    """What a pass did, for logs and metrics."""

    failed: int = 0
    stopped: int = 0
    released: int = 0
    asked_again: int = 0
    promoted: int = 0
    outbox: list[OutboxMessage] = field(default_factory=list[OutboxMessage])


# A runner is dead when its lease is past or it has no row.
_DEAD = text("""
    select t.id, t.user_id, t.thread_id, t.stop_requested_at is not null as stop_requested
    from turns t left join runners r on r.id = t.runner_id
    where t.status = 'running' and (r.id is null or r.alive_until < clock_timestamp())
    order by t.started_at limit :batch
    for no key update of t skip locked
""")

_RUNNING_HERE = text("select id from turns where status = 'running' and runner_id = :runner")

_ORPHANS = text("""
    select t.id, t.user_id, t.thread_id, t.stop_requested_at is not null as stop_requested,
        t.commit_number = 0 and not exists (select from attempts a where a.turn_id = t.id) as is_untouched
    from turns t
    where t.status = 'running' and t.runner_id = :runner and t.id = any(:suspects)
    order by t.started_at limit :batch
    for no key update of t skip locked
""")

_TO_STOP = text("""
    select id, user_id, thread_id from turns
    where status = 'queued' and stop_requested_at is not null
    order by queued_at limit :batch for no key update skip locked
""")

_LOCK_THREAD = text("select id from threads where id = :thread for no key update skip locked")

_RELEASE = text("""
    update turns set status = 'queued', runner_id = null, queued_at = clock_timestamp(), recoveries = recoveries + 1
    where id = :turn and status = 'running' and runner_id = :runner
    returning id
""")

_ASK_AGAIN = text("""
    update turns set queued_at = clock_timestamp()
    where id in (
        select id from turns
        where status = 'queued' and queued_at < clock_timestamp() - make_interval(secs => :age)
        order by queued_at limit :batch for no key update skip locked)
    returning id, user_id, traceparent
""")

# Whoever has fewest comes first, and no more of them than there are places.
_WAITING_USERS = text("""
    with active as (
        select user_id, count(*) filter (where parent_turn_id is null) as turns
        from turns where status in ('queued', 'running') group by user_id
    )
    select w.user_id from turns w left join active a using (user_id)
    where w.status = 'waiting' and coalesce(a.turns, 0) < :per_user and not exists (
        select from turns b where b.thread_id = w.thread_id and b.status in ('queued', 'running'))
    group by w.user_id, a.turns order by coalesce(a.turns, 0), min(w.accepted_at)
    limit (
        select greatest(0, least(:batch, case when :total > 0 then :total - c.active
                                              when c.slots > 0 then c.slots - c.active else :batch end))
        from retinue_capacity() c)
""")


async def close_dead(session: Session, limits: Limits) -> Swept:
    """Running turns whose runner is dead: failed as interrupted, or stopped if that was asked for."""
    swept = Swept()
    for row in _by_user((await session.execute(_DEAD, {"batch": BATCH})).all()):
        await _close(session, row, TurnStatus.RUNNING, swept, limits)
    await outbox.write(session, swept.outbox)
    return swept


async def close_orphans(
    session: Session, runner_id: UUID, held: Callable[[], Collection[UUID]], limits: Limits
) -> Swept:
    """Rows running under the caller's own id that it does not hold: a claim or commit whose reply was lost.

    A turn in which nothing has happened yet goes back to the queue; any other is failed. `held` is asked after each
    look at the rows, never before: a claim that commits in between would look like an orphan.
    """
    swept = Swept()
    running = [row.id for row in await session.execute(_RUNNING_HERE, {"runner": runner_id})]
    suspects = [id for id in running if id not in held()]
    if not suspects:
        return swept
    parameters = {"runner": runner_id, "suspects": suspects, "batch": BATCH}
    rows = (await session.execute(_ORPHANS, parameters)).all()
    for row in _by_user([row for row in rows if row.id not in held()]):
        if row.is_untouched and not row.stop_requested:
            await session.execute(_RELEASE, {"turn": row.id, "runner": runner_id})
            swept.outbox.append(of_event(TurnRequested(user_id=row.user_id, turn_id=row.id)))
            swept.released += 1
        else:
            await _close(session, row, TurnStatus.RUNNING, swept, limits)
    await outbox.write(session, swept.outbox)
    return swept


async def stop_queued(session: Session, limits: Limits) -> Swept:
    """A stop that was asked for while the turn went back to the queue."""
    swept = Swept()
    for row in _by_user((await session.execute(_TO_STOP, {"batch": BATCH})).all()):
        await _end(session, row, TurnStatus.QUEUED, TurnStatus.STOPPED, "user", None, swept, limits)
    await outbox.write(session, swept.outbox)
    return swept


async def ask_again(session: Session, *, age: float) -> Swept:
    """Queued turns whose wake-up is older than `age` seconds are asked for again."""
    swept = Swept()
    for row in (await session.execute(_ASK_AGAIN, {"age": age, "batch": BATCH})).all():
        event = TurnRequested(user_id=row.user_id, turn_id=row.id)
        swept.outbox.append(of_event(event, row.traceparent))
        swept.asked_again += 1
    await outbox.write(session, swept.outbox)
    return swept


async def waiting_users(session: Session, limits: Limits) -> list[UUID]:
    """Users with a waiting turn that might run; promote each in a transaction of its own, in this order."""
    parameters = {"batch": BATCH, "per_user": limits.per_user, "total": limits.total}
    return [row.user_id for row in await session.execute(_WAITING_USERS, parameters)]


async def promote_user(session: Session, user_id: UUID, limits: Limits) -> Swept:
    """One turn of this user: the next pass takes the next, so that all get their share."""
    queued = await promote_next(session, user_id, limits)
    await outbox.write(session, list(queued.values()))
    return Swept(promoted=len(queued), outbox=list(queued.values()))


def _by_user(rows: Sequence[Any]) -> list[Any]:
    """Promotion locks users one after the other; two sweeps must do so in one order, or they wait for each other."""
    return sorted(rows, key=lambda row: row.user_id)


async def _close(session: Session, row: Any, expected: TurnStatus, swept: Swept, limits: Limits) -> None:
    if row.stop_requested:
        await _end(session, row, expected, TurnStatus.STOPPED, "user", None, swept, limits)
    else:
        await _end(session, row, expected, TurnStatus.FAILED, "interrupted", INTERRUPTED, swept, limits)


async def _end(
    session: Session,
    row: Any,
    expected: TurnStatus,
    status: TurnStatus,
    ended_by: str,
    error: dict[str, Any] | None,
    swept: Swept,
    limits: Limits,
) -> None:
    # The thread comes before the turn in the lock order; whoever cannot have it now takes it a second later.
    if (await session.execute(_LOCK_THREAD, {"thread": row.thread_id})).one_or_none() is None:
        return
    messages = await close_turn(session, row.id, expected, status, ended_by, error)
    if not messages:
        return
    swept.outbox += messages
    swept.outbox += (await promote(session, row.user_id, row.thread_id, limits)).values()
    if status is TurnStatus.STOPPED:
        swept.stopped += 1
    else:
        swept.failed += 1
