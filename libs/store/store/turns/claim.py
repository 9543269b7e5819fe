"""Claiming: a runner takes a queued turn by raising its epoch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from contracts.batches import BatchId
from store.store import Session


@dataclass(frozen=True, slots=True)
class Claim:
    """A turn in a runner's hands."""

    turn_id: UUID
    user_id: UUID
    runner_id: UUID
    thread_id: UUID
    agent_id: UUID
    message_id: UUID
    question_id: UUID
    epoch: int
    commit: BatchId
    """The cut: the id of the last commit, whichever epoch made it."""
    steps: int
    channel: str
    model: str | None
    traceparent: str | None
    started_at: datetime | None = None
    """When it was claimed first: the moment that its instructions tell, whoever goes on with it."""
    has_own_keys: bool = True
    """Its user may have saved provider keys: nobody else's turn needs to look for them."""


_CLAIM = text("""
    update turns set status = 'running', runner_id = :runner, epoch = epoch + 1,
        started_at = coalesce(started_at, clock_timestamp())
    where id = :turn and status = 'queued' and stop_requested_at is null
        and (cast(:user as uuid) is null or user_id = :user)
    returning id, user_id, thread_id, agent_id, message_id, question_id, epoch, commit_epoch, commit_number, steps,
        channel, model, traceparent, started_at,
        exists(select from providers p where p.user_id = turns.user_id) as has_own_keys
""")


async def claim(session: Session, turn_id: UUID, runner_id: UUID, user_id: UUID | None = None) -> Claim | None:
    """Takes the turn, or returns None if there is nothing to take: the wake-up was late or a repeat.

    One statement, so that a runner makes it past the policies (`Store.statement`), naming the turn's user itself.
    """
    named = {"turn": turn_id, "runner": runner_id, "user": user_id}
    row = (await session.execute(_CLAIM, named)).one_or_none()
    if row is None:
        return None
    return Claim(
        turn_id=row.id,
        user_id=row.user_id,
        runner_id=runner_id,
        thread_id=row.thread_id,
        agent_id=row.agent_id,
        message_id=row.message_id,
        question_id=row.question_id,
        epoch=row.epoch,
        commit=BatchId(row.commit_epoch, row.commit_number),
        steps=row.steps,
        channel=row.channel,
        model=row.model,
        traceparent=row.traceparent,
        started_at=row.started_at,
        has_own_keys=row.has_own_keys,
    )
