"""Turns and what happens in them: tool calls, attempts, the ledger, and the runners that hold them.

Written by the turn-runner; the door (accept, stop, promote) may write the columns that migrations grant it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, LargeBinary
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.orm import Mapped, mapped_column

from store.models.base import Model


class Turn(Model):
    __tablename__ = "turns"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    thread_id: Mapped[UUID] = mapped_column(ForeignKey("threads.id", ondelete="CASCADE"))
    agent_id: Mapped[UUID] = mapped_column(ForeignKey("agents.id"))
    message_id: Mapped[UUID] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"))
    """The message that the turn writes."""
    question_id: Mapped[UUID] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"))
    """The message that it answers."""
    continues: Mapped[UUID | None] = mapped_column(ForeignKey("turns.id", ondelete="CASCADE"))
    parent_turn_id: Mapped[UUID | None] = mapped_column(ForeignKey("turns.id", ondelete="CASCADE"))
    channel: Mapped[str]
    busy: Mapped[str]
    """What to do if the thread was busy: replace, queue or reject."""
    status: Mapped[str]
    epoch: Mapped[int]
    runner_id: Mapped[UUID | None]
    commit_epoch: Mapped[int]
    commit_number: Mapped[int] = mapped_column(BigInteger)
    """With `commit_epoch` the id of the last batch that a commit named: the cut of whoever claims next."""
    steps: Mapped[int]
    recoveries: Mapped[int]
    model: Mapped[str | None]
    idempotency_key: Mapped[str | None]
    request_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    traceparent: Mapped[str | None]
    accepted_at: Mapped[datetime]
    queued_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    stop_requested_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    ended_by: Mapped[str | None]
    """Why it ended; while it runs, why it shall stop, if it shall."""
    error: Mapped[dict[str, Any] | None]


class ToolCall(Model):
    __tablename__ = "tool_calls"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    """The call's id on the wire; the provider's own is a column, sent back unchanged."""
    turn_id: Mapped[UUID] = mapped_column(ForeignKey("turns.id", ondelete="CASCADE"))
    step: Mapped[int]
    name: Mapped[str]
    provider_call_id: Mapped[str]
    state: Mapped[str]
    """asked, started, done."""
    input: Mapped[Any] = mapped_column(JSON)
    output: Mapped[Any | None] = mapped_column(JSON)
    error_text: Mapped[str | None]
    epoch: Mapped[int]
    is_idempotent: Mapped[bool]
    is_hosted: Mapped[bool]
    """The provider ran it within the model call (its own search); it is shown, and never sent back as a call."""
    started_at: Mapped[datetime | None]
    done_at: Mapped[datetime | None]


class Attempt(Model):
    """One model call as the provider saw it; exactly one row for each, open before the call is made."""

    __tablename__ = "attempts"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    turn_id: Mapped[UUID] = mapped_column(ForeignKey("turns.id", ondelete="CASCADE"))
    epoch: Mapped[int]
    step: Mapped[int]
    number: Mapped[int]
    """Counts the tries of one step within an epoch, from 1."""
    state: Mapped[str]
    """open, done, failed, interrupted."""
    model_asked: Mapped[str]
    model_served: Mapped[str | None]
    input_tokens: Mapped[int | None]
    cached_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    reasoning_tokens: Mapped[int | None]
    cost_micros: Mapped[int | None] = mapped_column(BigInteger)
    """Millionths of a dollar; none where nobody knows."""
    is_estimated: Mapped[bool]
    reserved_micros: Mapped[int] = mapped_column(BigInteger)
    started_at: Mapped[datetime]
    first_token_ms: Mapped[int | None]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    purpose: Mapped[str]
    """`answer`, or `title`: a call beside the answer, made after the turn has ended."""
    prompt_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Instructions and tools as the model saw them: a row of `prompts`."""
    prompt_tail: Mapped[str | None]
    """The end of the instructions, which changes from turn to turn."""


class Prompt(Model):
    """Instructions and tools that a model was given, kept once for all attempts that saw the same."""

    __tablename__ = "prompts"

    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    blocks: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    tools: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    created_at: Mapped[datetime]


class LedgerEntry(Model):
    __tablename__ = "ledger"

    turn_id: Mapped[UUID] = mapped_column(primary_key=True)
    """No foreign key: what was used stays used when its thread is gone for good."""
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    agent_id: Mapped[UUID]
    thread_id: Mapped[UUID]
    model_asked: Mapped[str | None]
    model_served: Mapped[str | None]
    input_tokens: Mapped[int | None]
    cached_tokens: Mapped[int | None]
    output_tokens: Mapped[int | None]
    reasoning_tokens: Mapped[int | None]
    cost_micros: Mapped[int | None] = mapped_column(BigInteger)
    is_estimated: Mapped[bool]
    attempts: Mapped[int]
    unpriced: Mapped[int]
    """Model calls among them whose cost nobody knows."""
    duration_ms: Mapped[int | None]
    first_token_ms: Mapped[int | None]
    status: Mapped[str]
    ended_by: Mapped[str | None]
    ended_at: Mapped[datetime]


class Runner(Model):
    """A runner process that is alive until the given time; its id is new with every start."""

    __tablename__ = "runners"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str]
    slots: Mapped[int]
    started_at: Mapped[datetime]
    alive_until: Mapped[datetime]
