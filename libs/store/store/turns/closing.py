"""Ending a turn from outside: the door's stop, a newer message, the sweep.

Whoever ends a turn that it does not hold raises the epoch in the same statement, gives every open call a result,
settles open attempts, writes the ledger row, the end batch and the fact, and promotes the next.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.expression import bindparam

from contracts.batches import BatchId
from contracts.turns import TurnCompleted, TurnStatus
from store.outbox import OutboxMessage, of_batch, of_event
from store.store import Session
from store.turns.endings import foreign_end_batch, interrupted_result

_CLOSE = text("""
    update turns set status = :status, epoch = epoch + 1, ended_at = clock_timestamp(), ended_by = :ended_by,
        error = :error
    where id = :turn and status = :expected
    returning user_id, thread_id, message_id, epoch, commit_epoch, commit_number, traceparent, model
""").bindparams(bindparam("error", type_=JSONB(none_as_null=True)))

_OPEN_CALLS = text("""
    select id, state from tool_calls where turn_id = :turn and state <> 'done' order by step, id
""")

_CLOSE_CALL = text("""
    update tool_calls set state = 'done', error_text = :error_text, done_at = clock_timestamp()
    where id = :call and state = :expected
""")

_SETTLE = text("""
    update attempts set state = 'interrupted', ended_at = clock_timestamp(), outcome = coalesce(outcome, 'interrupted'),
        is_estimated = true, reserved_micros = 0
    where turn_id = :turn and state = 'open'
""")

WRITE_LEDGER = text("""
    insert into ledger (turn_id, user_id, agent_id, thread_id, model_asked, model_served, input_tokens, cached_tokens,
        output_tokens, reasoning_tokens, cost_micros, is_estimated, attempts, unpriced, duration_ms, first_token_ms,
        status, ended_by, ended_at)
    select t.id, t.user_id, t.agent_id, t.thread_id,
        (select model_asked from attempts where turn_id = t.id order by started_at desc limit 1),
        (select model_served from attempts where turn_id = t.id order by started_at desc limit 1),
        sum(a.input_tokens), sum(a.cached_tokens), sum(a.output_tokens), sum(a.reasoning_tokens), sum(a.cost_micros),
        coalesce(bool_or(a.is_estimated), false), count(a.id),
        count(a.id) filter (where a.cost_micros is null and a.state <> 'failed'),  -- a call that failed cost nothing
        extract(epoch from t.ended_at - t.accepted_at) * 1000,
        min(extract(epoch from a.started_at - t.accepted_at) * 1000 + a.first_token_ms),
        t.status, t.ended_by, t.ended_at
    from turns t left join attempts a on a.turn_id = t.id
    where t.id = :turn
    group by t.id
    on conflict (turn_id) do nothing
""")


async def close_turn(
    session: Session,
    turn_id: UUID,
    expected: TurnStatus,
    status: TurnStatus,
    ended_by: str | None,
    error: dict[str, Any] | None = None,
) -> list[OutboxMessage]:
    """Moves a turn that the caller does not hold to a final state; the caller has locked its thread's row.

    Returns the messages for the outbox (end batch and fact), or none if the turn was not in the expected state.
    """
    parameters = {
        "turn": turn_id,
        "expected": expected.value,
        "status": status.value,
        "ended_by": ended_by,
        "error": error,
    }
    row = (await session.execute(_CLOSE, parameters)).one_or_none()
    if row is None:
        return []
    open_calls = [(call.id, call.state) for call in await session.execute(_OPEN_CALLS, {"turn": turn_id})]
    for call_id, state in open_calls:
        parameters = {"call": call_id, "expected": state, "error_text": interrupted_result(state)}
        await session.execute(_CLOSE_CALL, parameters)
    await session.execute(_SETTLE, {"turn": turn_id})
    await session.execute(WRITE_LEDGER, {"turn": turn_id})
    batch = foreign_end_batch(
        turn_id=turn_id,
        message_id=row.message_id,
        epoch=row.epoch,
        commit=BatchId(row.commit_epoch, row.commit_number),
        open_calls=open_calls,
        status=status.value,
        ended_by=ended_by,
        error=error,
        model=row.model,
    )
    fact = TurnCompleted(
        user_id=row.user_id, turn_id=turn_id, thread_id=row.thread_id, status=status, ended_by=ended_by
    )
    return [of_batch(turn_id, batch), of_event(fact, row.traceparent)]
