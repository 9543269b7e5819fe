"""Giving a turn back, and taking one up that others have worked on.

Whoever takes a turn up settles what older epochs left open, and learns how far they came; what they committed is in
the message's parts and the calls' rows. Whoever gives one back puts it into the queue himself, so that nobody waits
for a lease to end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from store import outbox
from store.outbox import OutboxMessage, wake_up
from store.store import Session
from store.turns.claim import Claim
from store.turns.errors import TurnLost
from store.turns.rows import AttemptResult, settle


@dataclass(frozen=True, slots=True)
class TakenUp:
    """How far older epochs came."""

    answers: int
    """Model calls that ended; more than the turn's steps where the last one said nothing at all."""
    last_outcome: str | None
    """Why the last of them ended."""


_OPEN_ATTEMPTS = text("select id, epoch from attempts where turn_id = :turn and epoch < :epoch and state = 'open'")

# What was sent is estimated when the attempt is opened; what came back is in the log, or nobody knows.
_SETTLE_OLDER = text("""
    update attempts set state = 'interrupted', ended_at = clock_timestamp(), outcome = coalesce(outcome, 'interrupted'),
        is_estimated = true, output_tokens = coalesce(cast(:output_tokens as integer), output_tokens),
        reserved_micros = 0
    where id = :attempt and state = 'open'
""")

_ANSWERS = text("""
    select coalesce(max(step) + 1, 0) as answers, (array_agg(outcome order by step desc, started_at desc))[1] as outcome
    from attempts where turn_id = :turn and state = 'done'
""")

_MINE = text("""
    select status, stop_requested_at from turns
    where id = :turn and epoch = :epoch and status in ('running', 'queued') for no key update
""")

_RELEASE = text("""
    update turns set status = 'queued', runner_id = null, queued_at = clock_timestamp() where id = :turn
""")


async def open_attempts(session: Session, held: Claim) -> dict[int, UUID]:
    """Model calls that older epochs left open, by epoch; each has one at most."""
    found = await session.execute(_OPEN_ATTEMPTS, {"turn": held.turn_id, "epoch": held.epoch})
    return {row.epoch: row.id for row in found}


async def take_up(session: Session, held: Claim, streamed: Mapping[int, int]) -> TakenUp:
    """Settles the attempts that older epochs left open; `streamed` is the tokens that each got, where known.

    Raises `TurnLost`.
    """
    named = {"turn": held.turn_id, "epoch": held.epoch}
    row = (await session.execute(_MINE, named)).one_or_none()
    if row is None or row.status != "running":
        raise TurnLost
    for epoch, attempt in (await open_attempts(session, held)).items():
        await session.execute(_SETTLE_OLDER, {"attempt": attempt, "output_tokens": streamed.get(epoch)})
    row = (await session.execute(_ANSWERS, {"turn": held.turn_id})).one()
    return TakenUp(row.answers, row.outcome)


async def release(session: Session, held: Claim, attempt: AttemptResult | None) -> list[OutboxMessage] | None:
    """Back into the queue, with the model call that was under way settled; what the relay should publish.

    None if a stop was committed first: the holder ends the turn then. Raises `TurnLost`.
    """
    named = {"turn": held.turn_id, "epoch": held.epoch}
    row = (await session.execute(_MINE, named)).one_or_none()
    if row is None:
        raise TurnLost
    if row.status == "queued":  # an earlier try of ours took, or a sweep was quicker
        return []
    if row.stop_requested_at is not None:
        return None
    await session.execute(_RELEASE, named)
    if attempt is not None:
        await settle(session, attempt)
    messages = [wake_up(held.user_id, held.thread_id, held.turn_id, held.traceparent)]
    await outbox.write(session, messages)
    return messages
