"""Model calls beside an answer: made after its turn has ended, and in its books all the same.

The row comes before the call and says `interrupted` until the call is over, so that a process that dies in between
leaves neither a call without a row nor a row that stays open.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import text

from store.store import Session
from store.turns.rows import AttemptResult

STEP = -1
"""The step of calls that belong to no step of the answer."""

_BEGIN = text("""
    insert into attempts (id, turn_id, epoch, step, number, state, model_asked, input_tokens, is_estimated, outcome,
        purpose, ended_at)
    select :id, t.id, t.epoch, :step, 1, 'interrupted', :model, :input_tokens, true, 'interrupted', :purpose,
        clock_timestamp()
    from turns t where t.id = :turn
    on conflict do nothing
    returning id
""")

_DONE = text("""
    update attempts set state = :state, outcome = :outcome, model_served = :model_served,
        input_tokens = :input_tokens, cached_tokens = :cached_tokens, output_tokens = :output_tokens,
        reasoning_tokens = :reasoning_tokens, cost_micros = :cost_micros, is_estimated = :is_estimated,
        first_token_ms = :first_token_ms, ended_at = clock_timestamp()
    where id = :id
""")

_SUM_UP = text("""
    update ledger l set input_tokens = s.input_tokens, cached_tokens = s.cached_tokens,
        output_tokens = s.output_tokens, reasoning_tokens = s.reasoning_tokens, cost_micros = s.cost_micros,
        is_estimated = s.is_estimated, attempts = s.attempts, unpriced = s.unpriced
    from (
        select sum(a.input_tokens) as input_tokens, sum(a.cached_tokens) as cached_tokens,
            sum(a.output_tokens) as output_tokens, sum(a.reasoning_tokens) as reasoning_tokens,
            sum(a.cost_micros) as cost_micros, coalesce(bool_or(a.is_estimated), false) as is_estimated,
            count(a.id) as attempts,
            count(a.id) filter (where a.cost_micros is null and a.state <> 'failed') as unpriced
        from attempts a where a.turn_id = :turn
    ) s
    where l.turn_id = :turn
""")

_NAME = text("""
    update threads set title = :title where id = :thread and title = :provisional returning id
""")


async def begin(
    session: Session, turn_id: UUID, attempt_id: UUID, *, purpose: str, model: str, input_tokens: int
) -> bool:
    """The row of a call that is about to be made; False if there is one already, or the turn is gone."""
    values = {"id": attempt_id, "turn": turn_id, "step": STEP, "model": model, "input_tokens": input_tokens}
    begun = (await session.execute(_BEGIN, values | {"purpose": purpose})).one_or_none()
    if begun is None:
        return False
    await session.execute(_SUM_UP, {"turn": turn_id})
    return True


async def settle(session: Session, turn_id: UUID, result: AttemptResult) -> None:
    """How the call went."""
    values = {name: getattr(result, name) for name in AttemptResult.__slots__}
    await session.execute(_DONE, values)
    await session.execute(_SUM_UP, {"turn": turn_id})


async def name_thread(session: Session, thread_id: UUID, title: str, *, provisional: str) -> bool:
    """A title in the place of the first words; False if somebody has given another one meanwhile."""
    named = {"thread": thread_id, "title": title, "provisional": provisional}
    return (await session.execute(_NAME, named)).one_or_none() is not None
