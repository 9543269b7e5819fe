"""Answers what other services ask. Each question runs as a task of its own, not longer than its asker waits."""

# nats-py types its keyword arguments loosely.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic import BaseModel, ValidationError

from bus.rpc.errors import AnswerRefused
from contracts.rpc import Answer, Ask
from contracts.subjects import RPC_REPLIES

log = logging.getLogger(__name__)

B = TypeVar("B", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Question(Generic[B]):
    """What was asked and by whom; the callee looks up for itself what that user may."""

    user_id: UUID
    body: B
    seconds: float
    """Until nobody waits for the answer any more."""


OneAnswer = Callable[[Question[B]], Awaitable[BaseModel | None]]
Answers = Callable[[Question[B]], AsyncGenerator[BaseModel]]


class Answerer:
    """The answering side of one process. `refusals` turns an exception into what the asker is told, or none."""

    def __init__(
        self,
        client: Client,
        queue: str,
        *,
        most: int = 64,
        refusals: Callable[[Exception], AnswerRefused | None] = lambda _: None,
    ) -> None:
        self._client = client
        self._queue = queue
        self._most = most
        self._refusals = refusals
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscriptions: list[Any] = []

    async def answer(self, subject: str, body: type[B], work: OneAnswer[B]) -> None:
        """One process of those that hear `subject` gives one answer."""

        async def run(question: Question[B], reply: str) -> None:
            async with asyncio.timeout(question.seconds):
                made = await work(question)
            await self._say(reply, Answer(body=None if made is None else made.model_dump(mode="json")))

        await self._hear(subject, body, run, queue=self._queue)

    async def answer_often(self, subject: str, body: type[B], work: Answers[B]) -> None:
        """One process gives as many answers as it takes; it goes on when the asker has left."""

        async def run(question: Question[B], reply: str) -> None:
            async for each in work(question):
                await self._say(reply, Answer(body=each.model_dump(mode="json"), is_last=False))
            await self._say(reply, Answer())

        await self._hear(subject, body, run, queue=self._queue)

    async def hear(self, subject: str, body: type[B], work: OneAnswer[B]) -> None:
        """Every process hears it, and nobody answers."""

        async def run(question: Question[B], _reply: str) -> None:
            await work(question)

        await self._hear(subject, body, run, queue="")

    async def close(self) -> None:
        """Hear nothing more, and end what is being answered."""
        for subscription in self._subscriptions:
            await subscription.unsubscribe()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _hear(
        self, subject: str, body: type[B], run: Callable[[Question[B], str], Awaitable[None]], *, queue: str
    ) -> None:
        envelope = Ask[body]  # made for this body, so that what is read is one

        async def heard(message: Msg) -> None:
            try:
                ask = envelope.model_validate_json(message.data)
            except ValidationError as wrong:
                log.warning("not a question", extra={"subject": subject, "faults": wrong.error_count()})
                await self._say(message.reply, Answer(status=400, error="bad_question", message="Not a question."))
                return
            seconds = ask.deadline - time.time()
            if seconds <= 0:
                return
            if len(self._tasks) >= self._most:
                busy = "Too much is being asked at the moment; try again."
                await self._say(message.reply, Answer(status=503, error="busy", message=busy))
                return
            task = asyncio.create_task(self._guarded(run, Question(ask.user_id, ask.body, seconds), message, subject))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._subscriptions.append(await self._client.subscribe(subject, queue=queue, cb=heard))

    async def _guarded(
        self, run: Callable[[Question[B], str], Awaitable[None]], question: Question[B], message: Msg, subject: str
    ) -> None:
        try:
            await run(question, message.reply)
        except TimeoutError:
            log.warning("answered too late", extra={"subject": subject})
        except Exception as wrong:
            refused = wrong if isinstance(wrong, AnswerRefused) else self._refusals(wrong)
            if refused is None:
                log.exception("a question broke", extra={"subject": subject})
                refused = AnswerRefused(500, "internal", "Something went wrong there. The runner's log has more.")
            answer = Answer(status=refused.status, error=refused.error, message=refused.message)
            await self._say(message.reply, answer)

    async def _say(self, reply: str, answer: Answer) -> None:
        if is_reply(reply):
            await self._client.publish(reply_of(reply), answer.model_dump_json(exclude_none=True).encode())


def is_reply(subject: str) -> bool:
    """Whether answers may go there: nowhere but to where askers listen, whatever a message names."""
    prefix = RPC_REPLIES.removesuffix("*")
    token = subject.removeprefix(prefix)
    return subject.startswith(prefix) and token.isalnum()


def reply_of(subject: str) -> str:
    """The same, named so that the routing table can be read from the code."""
    return subject
