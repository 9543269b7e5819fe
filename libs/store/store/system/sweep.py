"""The sweep: brings back what fell between two stools. Small batches, `SKIP LOCKED`, safe in every runner at once.

A turn whose runner died goes back to the queue, and whoever claims it next goes on from its last commit. One that
shall stop is stopped instead; one that was brought back too often fails, so that a turn which kills its runners ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import text

from contracts.turns import TurnStatus
from store import outbox
from store.outbox import OutboxMessage, wake_up
from store.store import Session
from store.turns.closing import close_turn
from store.turns.promotion import Limits, promote, promote_next
from store.turns.state import stop_reason

BATCH = 200
"""Turns that one pass of one kind takes at most."""

ENDS = 50
"""Turns that one pass ends at most, because each end is several statements; the next second takes the next."""

INTERRUPTED: dict[str, Any] = {
    "error": "interrupted",
    "message": "The answer was given up: too many of the processes that wrote it ended before it did. "
    "Please try again.",
}


@dataclass(slots=True)
class Swept:
    """What a pass did, for logs and metrics."""

    recovered: int = 0
    failed: int = 0
    stopped: int = 0
    asked_again: int = 0
    promoted: int = 0
    outbox: list[OutboxMessage] = field(default_factory=list[OutboxMessage])


# Thread before turn, as everybody locks them: whoever ends a turn or speaks at the door holds the thread and then
# waits for the turn's row, and a sweep that had that row and waited for the same user's promotion would wait for ever.
_LOST = """
    select t.id, t.user_id, t.thread_id, t.traceparent, t.recoveries, t.stop_requested_at is not null as stop_requested
    from turns t join threads th on th.id = t.thread_id left join runners r on r.id = t.runner_id
    where t.status = 'running' and {condition}
    order by t.started_at limit :batch
    for no key update of th, t skip locked
"""

# A runner is dead when its lease is past or it has no row.
_DEAD = text(_LOST.format(condition="(r.id is null or r.alive_until < clock_timestamp())"))

_ORPHANS = text(_LOST.format(condition="t.runner_id = :runner and t.id = any(:suspects)"))

_RUNNING_HERE = text("select id from turns where status = 'running' and runner_id = :runner")

_QUEUE_AGAIN = text("""
    update turns set status = 'queued', runner_id = null, queued_at = clock_timestamp(), recoveries = recoveries + 1
    where id = any(:turns)
""")

_TO_STOP = text("""
    select t.id, t.user_id, t.thread_id from turns t join threads th on th.id = t.thread_id
    where t.status = 'queued' and t.stop_requested_at is not null
    order by t.queued_at limit :batch for no key update of th, t skip locked
""")

_LOCK_THREAD = text("select id from threads where id = :thread for no key update skip locked")

_ASK_AGAIN = text("""
    update turns set queued_at = clock_timestamp()
    where id in (
        select id from turns
        where status = 'queued' and queued_at < clock_timestamp() - make_interval(secs => :age)
        order by queued_at limit :batch for no key update skip locked)
    returning id, user_id, thread_id, traceparent
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


async def recover_dead(session: Session, limits: Limits, *, budget: int) -> Swept:
    """Running turns whose runner is dead: queued again, unless they shall stop or were recovered `budget` times."""
    rows = (await session.execute(_DEAD, {"batch": BATCH})).all()
    return await _recover(session, rows, limits, budget)


async def recover_orphans(
    session: Session, runner_id: UUID, held: Callable[[], Collection[UUID]], limits: Limits, *, budget: int
) -> Swept:
    """The same for rows running under the caller's own id that it does not hold: a claim or commit whose reply was
    lost, a task that died.

    `held` is asked after each look at the rows, never before: a claim that commits in between would look like an
    orphan.
    """
    running = [row.id for row in await session.execute(_RUNNING_HERE, {"runner": runner_id})]
    suspects = [id for id in running if id not in held()]
    if not suspects:
        return Swept()
    parameters = {"runner": runner_id, "suspects": suspects, "batch": BATCH}
    rows = (await session.execute(_ORPHANS, parameters)).all()
    return await _recover(session, [row for row in rows if row.id not in held()], limits, budget)


async def stop_queued(session: Session, limits: Limits) -> Swept:
    """A stop that was asked for while the turn went back to the queue."""
    swept = Swept()
    for row in _by_user((await session.execute(_TO_STOP, {"batch": ENDS})).all()):
        await _end(session, row, TurnStatus.QUEUED, TurnStatus.STOPPED, swept, limits)
    await outbox.write(session, swept.outbox)
    return swept


async def ask_again(session: Session, *, age: float) -> Swept:
    """Queued turns whose wake-up is older than `age` seconds are asked for again."""
    swept = Swept()
    for row in (await session.execute(_ASK_AGAIN, {"age": age, "batch": BATCH})).all():
        swept.outbox.append(_wake_up(row))
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


async def _recover(session: Session, rows: Sequence[Any], limits: Limits, budget: int) -> Swept:
    """What becomes of turns that nobody writes any more; their rows are locked."""
    swept = Swept()
    ending = [row for row in rows if row.stop_requested or row.recoveries >= budget]
    back = [row for row in rows if not (row.stop_requested or row.recoveries >= budget)]
    if back:
        await session.execute(_QUEUE_AGAIN, {"turns": [row.id for row in back]})
        swept.outbox += [_wake_up(row) for row in back]
        swept.recovered = len(back)
    for row in _by_user(ending)[:ENDS]:
        status = TurnStatus.STOPPED if row.stop_requested else TurnStatus.FAILED
        await _end(session, row, TurnStatus.RUNNING, status, swept, limits)
    await outbox.write(session, swept.outbox)
    return swept


def _wake_up(row: Any) -> OutboxMessage:
    """With the trace of the request that the turn began with."""
    return wake_up(row.user_id, row.thread_id, row.id, row.traceparent)


def _by_user(rows: Sequence[Any]) -> list[Any]:
    """Promotion locks users one after the other; two sweeps must do so in one order, or they wait for each other."""
    return sorted(rows, key=lambda row: row.user_id)


async def _end(
    session: Session, row: Any, expected: TurnStatus, status: TurnStatus, swept: Swept, limits: Limits
) -> None:
    # The thread comes before the turn in the lock order; whoever cannot have it now takes it a second later.
    if (await session.execute(_LOCK_THREAD, {"thread": row.thread_id})).one_or_none() is None:
        return
    is_stop = status is TurnStatus.STOPPED
    ended_by, error = (await stop_reason(session, row.id), None) if is_stop else ("interrupted", INTERRUPTED)
    messages = await close_turn(session, row.id, expected, status, ended_by, error)
    if not messages:
        return
    swept.outbox += messages
    swept.outbox += (await promote(session, row.user_id, row.thread_id, limits)).values()
    if is_stop:
        swept.stopped += 1
    else:
        swept.failed += 1
