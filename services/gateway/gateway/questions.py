"""Asking a turn-runner: the gateway itself calls no model and no provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TypeVar
from uuid import UUID

from pydantic import BaseModel

from bus.rpc.errors import AnswerRefused, NobodyAnswers
from chassis import logs
from chassis.errors import Busy, Refused
from gateway.parts import Parts

T = TypeVar("T", bound=BaseModel)

log = logs.get(__name__)


async def ask(subject: str, parts: Parts, user_id: UUID, body: BaseModel, answer: type[T]) -> T:
    """The answer. Raises `Refused`: whatever the runner refuses, and 503 where none answers in time."""
    try:
        return await parts.asker.ask(subject, body, answer, user_id=user_id, timeout=parts.settings.rpc_timeout)
    except (NobodyAnswers, AnswerRefused) as wrong:
        raise refusal(wrong) from None


async def follow(subject: str, parts: Parts, user_id: UUID, body: BaseModel, answer: type[T]) -> AsyncGenerator[T]:
    """Answers as they come, until the last. Raises as `ask` does."""
    try:
        async for each in parts.asker.follow(
            subject, body, answer, user_id=user_id, silence=parts.settings.rpc_timeout
        ):
            yield each
    except (NobodyAnswers, AnswerRefused) as wrong:
        raise refusal(wrong) from None


def refusal(wrong: NobodyAnswers | AnswerRefused) -> Refused:
    if isinstance(wrong, AnswerRefused):
        if wrong.status == 503:
            return Busy(wrong.message)
        return Refused(wrong.status, wrong.error, wrong.message)
    log.warning("a turn-runner was asked in vain", reason=str(wrong))
    return Busy("No turn-runner answers at the moment; try again.")
