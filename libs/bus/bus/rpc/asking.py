"""Asks another service. One subscription takes all answers; a question is known by a token that nobody can guess."""

# nats-py types its keyword arguments loosely.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar
from uuid import UUID

from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic import BaseModel, ValidationError

from bus.rpc.errors import AnswerRefused, NobodyAnswers
from contracts.ids import uuid7
from contracts.rpc import Answer, Ask
from contracts.subjects import RPC_REPLIES

T = TypeVar("T", bound=BaseModel)

UNHEARD, PAUSE = 1.0, 0.1
"""Seconds for which a question that nobody hears is asked again, and between two tries: a process that hears it may
just be taking over from another."""

MOST_WAITING = 256
"""Answers to one question that nobody has taken yet; one more ends the question."""


class Asker:
    """One per process, with `start` after the connection is there."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._prefix = RPC_REPLIES.removesuffix("*")
        self._waiting: dict[str, asyncio.Queue[Msg | None]] = {}

    async def start(self) -> None:
        await self._client.subscribe(RPC_REPLIES, cb=self._answered)

    async def ask(
        self,
        subject: str,
        body: BaseModel,
        answer: type[T],
        *,
        user_id: UUID,
        timeout: float,
    ) -> T:
        """The one answer. Raises `NobodyAnswers` after `timeout` seconds at the latest, `AnswerRefused`."""
        following = self.follow(subject, body, answer, user_id=user_id, silence=timeout)
        async with aclosing(following) as answers:
            async for each in answers:
                return each
        raise NobodyAnswers(f"{subject}: the answer was empty")

    async def follow(
        self,
        subject: str,
        body: BaseModel,
        answer: type[T],
        *,
        user_id: UUID,
        silence: float,
    ) -> AsyncGenerator[T]:
        """Answers until the last one; `silence` is how many seconds may pass before each. Raises as `ask` does."""
        token = secrets.token_hex(16)
        queue: asyncio.Queue[Msg | None] = asyncio.Queue(MOST_WAITING)
        self._waiting[token] = queue
        wish = Ask[BaseModel](id=uuid7(), user_id=user_id, deadline=time.time() + silence, body=body)
        payload = wish.model_dump_json(serialize_as_any=True).encode()
        patience = time.monotonic() + min(silence, UNHEARD)
        try:
            await self._client.publish(subject, payload, reply=self._prefix + token)
            while True:
                try:
                    message = await asyncio.wait_for(queue.get(), silence)
                except TimeoutError:
                    raise NobodyAnswers(f"{subject}: no answer within {silence:g} s") from None
                if message is None:
                    raise NobodyAnswers(f"{subject}: answers came faster than they were taken")
                if _is_unheard(message):
                    if time.monotonic() > patience:
                        raise NobodyAnswers(f"{subject}: nobody hears it")
                    await asyncio.sleep(PAUSE)
                    await self._client.publish(subject, payload, reply=self._prefix + token)
                    continue
                made, is_last = _read(subject, message, answer)
                if made is not None:
                    yield made
                if is_last:
                    return
        finally:
            del self._waiting[token]

    async def tell(self, subject: str, body: BaseModel, *, user_id: UUID, timeout: float = 10.0) -> None:
        """Says something that wants no answer."""
        wish = Ask[BaseModel](id=uuid7(), user_id=user_id, deadline=time.time() + timeout, body=body)
        await self._client.publish(subject, wish.model_dump_json(serialize_as_any=True).encode())

    async def _answered(self, message: Msg) -> None:
        queue = self._waiting.get(message.subject.removeprefix(self._prefix))
        if queue is None:
            return  # nobody waits any more
        if queue.full():
            queue.get_nowait()
            queue.put_nowait(None)
        else:
            queue.put_nowait(message)


def _is_unheard(message: Msg) -> bool:
    """The broker's own word that nobody got the question, so that asking again is safe."""
    return bool(message.headers) and message.headers.get("Status") == "503"


def _read(subject: str, message: Msg, answer: type[T]) -> tuple[T | None, bool]:
    try:
        said = Answer.model_validate_json(message.data)
        if said.error is not None:
            raise AnswerRefused(said.status, said.error, said.message or said.error)
        return (None if said.body is None else answer.model_validate(said.body)), said.is_last
    except ValidationError as wrong:
        raise NobodyAnswers(f"{subject}: the answer is not one ({wrong.error_count()} faults)") from wrong
