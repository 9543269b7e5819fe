"""The commit points of a turn: what a runner writes while it holds one.

Every commit begins with an update of the turn's row, conditional on `epoch = mine and status = 'running'`, which
locks it; the rest follows in the same transaction. (a), (c) and the end name the last batch that they cover.

A commit whose reply was lost may be tried again as it is: the row says whether it took, so that a database that
went away for a moment costs neither a turn nor a second tool call (ADR 0003).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import LargeBinary, Text, text
from sqlalchemy.dialects.postgresql import JSON, JSONB
from sqlalchemy.sql.expression import bindparam

from contracts.batches import BatchId
from contracts.turns import TurnCompleted, TurnStatus
from store import outbox
from store.outbox import OutboxMessage, of_batch, of_event
from store.store import Session
from store.turns.claim import Claim
from store.turns.closing import WRITE_LEDGER
from store.turns.errors import TurnLost
from store.turns.promotion import USER_LOCK, Limits, promote
from store.turns.rows import AttemptResult, CallRow, PartRow, PromptSeen, append, ask, settle


@dataclass(frozen=True, slots=True)
class Ending:
    """The last words of the holder: what is still to be stored, and the ready bytes of the end batch."""

    status: TurnStatus
    ended_by: str
    commit: BatchId
    end_batch: bytes
    parts: Sequence[PartRow] = ()
    calls: Sequence[CallRow] = ()
    """Calls that the model was still asking for."""
    closed_calls: Sequence[tuple[UUID, str]] = ()
    """Calls that will not end, each with what is said of it."""
    attempt: AttemptResult | None = None
    error: dict[str, Any] | None = None
    preview: str | None = None
    limits: Limits = field(default_factory=Limits)


_HOLD = text("""
    update turns t set commit_epoch = :commit_epoch, commit_number = :commit_number, steps = :steps
    from (select id, commit_epoch, commit_number from turns where id = :turn for no key update) before
    where t.id = before.id and t.epoch = :epoch and t.status = 'running'
    returning before.commit_epoch, before.commit_number
""")

_TOUCH = text("""
    update turns set runner_id = runner_id where id = :turn and epoch = :epoch and status = 'running' returning id
""")

_OPEN_ATTEMPT = text("""
    with mine as (
        update turns set model = :model
        where id = :turn and epoch = :epoch and status = 'running' returning id, user_id
    ), seen as (
        insert into prompts (user_id, hash, blocks, tools)
        select mine.user_id, :prompt_hash, :blocks, :tools from mine where cast(:blocks as json) is not null
        on conflict do nothing
    )
    insert into attempts (id, turn_id, epoch, step, number, model_asked, input_tokens, is_estimated, prompt_hash,
        prompt_tail)
    select :id, mine.id, :epoch, :step, :number, :model, cast(:input_tokens as integer),
        cast(:input_tokens as integer) is not null, :prompt_hash, :prompt_tail from mine
    on conflict (id) do update set number = excluded.number  -- asked for again: the row of the first try
    returning id
""").bindparams(
    bindparam("blocks", type_=JSON(none_as_null=True)),
    bindparam("tools", type_=JSON(none_as_null=True)),
    bindparam("prompt_hash", type_=LargeBinary),
    bindparam("prompt_tail", type_=Text),
)

_SETTLE_OLDER = text("""
    update attempts set state = 'interrupted', ended_at = clock_timestamp(), is_estimated = true,
        outcome = coalesce(outcome, 'interrupted'), reserved_micros = 0
    where turn_id = :turn and epoch < :epoch and state = 'open'
""")

_START_CALL = text("""
    with mine as (
        update turns set runner_id = runner_id
        where id = :turn and epoch = :epoch and status = 'running' and stop_requested_at is null returning id)
    update tool_calls c set state = 'started', epoch = :epoch,
        started_at = coalesce(c.started_at, clock_timestamp())
    from mine where c.id = :call and c.turn_id = mine.id
        and (c.state = 'asked' or (c.state = 'started' and c.epoch = :epoch))
    returning c.id
""")

_MINE = text("select stop_requested_at from turns where id = :turn and epoch = :epoch and status = 'running'")

_FINISH_CALL = text("""
    update tool_calls set state = 'done', output = :output, error_text = :error_text, done_at = clock_timestamp()
    where id = :call and state <> 'done'
""").bindparams(bindparam("output", type_=JSON(none_as_null=True)))

_RAISE_EPOCH = text("""
    update turns set epoch = epoch + 1 where id = :turn and epoch = :epoch and status = 'running' returning epoch
""")

_RAISED = text("""
    select epoch from turns
    where id = :turn and epoch = :epoch + 1 and status = 'running' and runner_id = :runner
""")

# Before the turn's row: the door's lock order. Then the user's promotion, which the end needs too.
_USE_THREAD = text(f"""
    update threads set preview = coalesce(:preview, preview), touched_at = clock_timestamp() where id = :thread
    returning {USER_LOCK}
""")  # noqa: S608 - a constant of ours

_END = text("""
    update turns set status = :status, commit_epoch = :commit_epoch, commit_number = :commit_number,
        ended_at = clock_timestamp(), ended_by = :ended_by, error = :error
    where id = :turn and epoch = :epoch and status = 'running'
    returning id
""").bindparams(bindparam("error", type_=JSONB(none_as_null=True)))

_ENDED_SO = text("""
    select id from turns where id = :turn and epoch = :epoch and status = :status
        and commit_epoch = :commit_epoch and commit_number = :commit_number
""")


async def open_attempt(
    session: Session,
    held: Claim,
    attempt_id: UUID,
    *,
    step: int,
    number: int,
    model: str,
    input_tokens: int | None = None,
    prompt: PromptSeen | None = None,
) -> None:
    """(o) The attempt's row, before the model is called; `input_tokens` is an estimate, in case nobody tells the real
    number. The turn keeps the model that was asked last. Raises `TurnLost`.
    """
    opened = await session.execute(
        _OPEN_ATTEMPT,
        {
            "id": attempt_id,
            "turn": held.turn_id,
            "epoch": held.epoch,
            "step": step,
            "number": number,
            "model": model,
            "input_tokens": input_tokens,
            "prompt_hash": prompt.hash if prompt else None,
            "prompt_tail": prompt.tail if prompt else None,
            "blocks": prompt.blocks if prompt else None,
            "tools": prompt.tools if prompt else None,
        },
    )
    if opened.one_or_none() is None:
        raise TurnLost
    if held.epoch > 1:
        await session.execute(_SETTLE_OLDER, {"turn": held.turn_id, "epoch": held.epoch})


async def settle_attempt(session: Session, held: Claim, result: AttemptResult) -> None:
    """A model call failed before its first token and will be tried again. Raises `TurnLost`."""
    await _touch(session, held)
    await settle(session, result)


async def commit_model_call(
    session: Session,
    held: Claim,
    commit: BatchId,
    *,
    steps: int,
    parts: Sequence[PartRow],
    calls: Sequence[CallRow],
    attempt: AttemptResult,
) -> None:
    """(a) The model call has ended: its parts, the calls as asked, its usage, the batch number. Raises `TurnLost`."""
    if await _hold(session, held, commit, steps):
        return
    await ask(session, held, calls)
    await append(session, held, parts)
    await settle(session, attempt)


async def start_call(session: Session, held: Claim, call_id: UUID) -> bool:
    """(b) Before a tool that is not idempotent starts; False if a stop was committed first. Raises `TurnLost`."""
    named = {"turn": held.turn_id, "epoch": held.epoch, "call": call_id}
    if (await session.execute(_START_CALL, named)).one_or_none() is not None:
        return True
    mine = (await session.execute(_MINE, named)).one_or_none()
    if mine is None or mine.stop_requested_at is None:
        raise TurnLost
    return False


async def finish_call(
    session: Session, held: Claim, commit: BatchId, *, steps: int, call_id: UUID, output: Any, error_text: str | None
) -> None:
    """(c) A tool has ended; its result is in the log up to `commit`. Raises `TurnLost`."""
    if await _hold(session, held, commit, steps):
        return
    await session.execute(_FINISH_CALL, {"call": call_id, "output": output, "error_text": error_text})


async def raise_epoch(session: Session, held: Claim) -> int:
    """A provider's stream broke after its first token: the holder supersedes its own text. Raises `TurnLost`."""
    named = {"turn": held.turn_id, "epoch": held.epoch, "runner": held.runner_id}
    row = (await session.execute(_RAISE_EPOCH, named)).one_or_none()
    if row is None:  # an earlier try of ours took, if the next epoch is this runner's
        row = (await session.execute(_RAISED, named)).one_or_none()
    if row is None:
        raise TurnLost
    await session.execute(_SETTLE_OLDER, {"turn": held.turn_id, "epoch": row.epoch})
    return row.epoch


async def end(session: Session, held: Claim, ending: Ending) -> list[OutboxMessage]:
    """The end, in one transaction; returns what the relay should publish. Raises `TurnLost`."""
    used = {"thread": held.thread_id, "preview": ending.preview, "user": str(held.user_id)}
    await session.execute(_USE_THREAD, used)
    parameters = {
        "turn": held.turn_id,
        "epoch": held.epoch,
        "status": ending.status.value,
        "commit_epoch": ending.commit.epoch,
        "commit_number": ending.commit.number,
        "ended_by": ending.ended_by,
        "error": ending.error,
    }
    if (await session.execute(_END, parameters)).one_or_none() is None:
        if (await session.execute(_ENDED_SO, parameters)).one_or_none() is None:
            raise TurnLost
        return []
    await ask(session, held, ending.calls)
    await append(session, held, ending.parts)
    for call_id, text_of_result in ending.closed_calls:
        await session.execute(_FINISH_CALL, {"call": call_id, "output": None, "error_text": text_of_result})
    if ending.attempt is not None:
        await settle(session, ending.attempt)
    if held.epoch > 1:
        await session.execute(_SETTLE_OLDER, {"turn": held.turn_id, "epoch": held.epoch})
    await session.execute(WRITE_LEDGER, {"turn": held.turn_id})
    fact = TurnCompleted(
        user_id=held.user_id,
        turn_id=held.turn_id,
        thread_id=held.thread_id,
        status=ending.status,
        ended_by=ending.ended_by,
    )
    messages = [of_batch(held.turn_id, ending.end_batch), of_event(fact, held.traceparent)]
    messages += (await promote(session, held.user_id, held.thread_id, ending.limits, is_locked=True)).values()
    await outbox.write(session, messages)
    return messages


async def _hold(session: Session, held: Claim, commit: BatchId, steps: int) -> bool:
    """Locks the row and names the batch; True if an earlier try of this very commit already took."""
    row = (
        await session.execute(
            _HOLD,
            {
                "turn": held.turn_id,
                "epoch": held.epoch,
                "commit_epoch": commit.epoch,
                "commit_number": commit.number,
                "steps": steps,
            },
        )
    ).one_or_none()
    if row is None:
        raise TurnLost
    return BatchId(row.commit_epoch, row.commit_number) == commit


async def _touch(session: Session, held: Claim) -> None:
    named = {"turn": held.turn_id, "epoch": held.epoch}
    if (await session.execute(_TOUCH, named)).one_or_none() is None:
        raise TurnLost
