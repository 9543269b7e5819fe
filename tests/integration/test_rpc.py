"""Questions between services over the real broker, as the users that services are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

import pytest
from nats.aio.client import Client

from bus.connection import connect
from bus.rpc.answering import Answerer, Question
from bus.rpc.asking import Asker
from bus.rpc.errors import AnswerRefused, NobodyAnswers
from contracts.ids import uuid7
from contracts.rpc import KeyTested, KeyTestWish, PullProgress, PullWish
from contracts.subjects import RPC_KEY_TEST, RPC_PULL, RPC_PULL_STOP
from tests.kit.stack import Servers

USER = uuid7()


@dataclass
class Line:
    """A gateway that asks and a runner that answers."""

    asker: Asker
    answerer: Answerer
    runner: Client


@pytest.fixture
async def line(servers: Servers) -> AsyncIterator[Line]:
    gateway = await connect(servers.nats_url("gateway"), "asker")
    runner = await connect(servers.nats_url("turn_runner"), "answerer")
    asker = Asker(gateway)
    await asker.start()
    answerer = Answerer(runner, "turn_runner", most=2)
    yield Line(asker, answerer, runner)
    await answerer.close()
    await gateway.close()
    await runner.close()


async def asked(line: Line, wish: KeyTestWish | None = None, timeout: float = 5.0) -> KeyTested:
    body = wish or KeyTestWish(kind="openai")
    return await line.asker.ask(RPC_KEY_TEST, body, KeyTested, user_id=USER, timeout=timeout)


async def test_an_answer_comes_back_to_who_asked_with_the_user_that_asked(line: Line) -> None:
    async def work(question: Question[KeyTestWish]) -> KeyTested:
        assert question.user_id == USER
        assert 0 < question.seconds <= 5
        return KeyTested(ok=True, models=(question.body.kind,), took_ms=1)

    await line.answerer.answer(RPC_KEY_TEST, KeyTestWish, work)
    await line.runner.flush()
    kinds = [f"kind-{n}" for n in range(2)]
    answers = await asyncio.gather(*(asked(line, KeyTestWish(kind=kind)) for kind in kinds))
    assert [answer.models for answer in answers] == [(kind,) for kind in kinds]


async def test_where_nobody_hears_it_is_said_at_once(line: Line) -> None:
    begun = time.monotonic()
    with pytest.raises(NobodyAnswers, match="nobody hears"):
        await asked(line, timeout=30)
    assert time.monotonic() - begun < 5


async def test_a_refusal_and_a_bug_are_told_apart(line: Line) -> None:
    async def work(question: Question[KeyTestWish]) -> KeyTested:
        if question.body.kind == "bug":
            raise RuntimeError("a secret of the runner's")
        raise AnswerRefused(403, "forbidden", "Only an admin may do this.")

    await line.answerer.answer(RPC_KEY_TEST, KeyTestWish, work)
    await line.runner.flush()
    with pytest.raises(AnswerRefused, match="Only an admin") as refused:
        await asked(line)
    assert (refused.value.status, refused.value.error) == (403, "forbidden")
    with pytest.raises(AnswerRefused) as broken:
        await asked(line, KeyTestWish(kind="bug"))
    assert broken.value.status == 500
    assert "secret" not in str(broken.value)


async def test_nobody_waits_beyond_the_deadline_and_nobody_works_beyond_it(line: Line) -> None:
    ended = asyncio.Event()

    async def work(_: Question[KeyTestWish]) -> KeyTested:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    await line.answerer.answer(RPC_KEY_TEST, KeyTestWish, work)
    await line.runner.flush()
    with pytest.raises(NobodyAnswers, match="no answer within"):
        await asked(line, timeout=0.3)
    async with asyncio.timeout(5):
        await ended.wait()


async def test_too_many_questions_at_once_are_refused(line: Line) -> None:
    free = asyncio.Event()

    async def work(_: Question[KeyTestWish]) -> KeyTested:
        await free.wait()
        return KeyTested(ok=True, took_ms=1)

    await line.answerer.answer(RPC_KEY_TEST, KeyTestWish, work)
    await line.runner.flush()
    waiting = [asyncio.create_task(asked(line)) for _ in range(3)]
    done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED, timeout=5)
    with pytest.raises(AnswerRefused) as busy:
        done.pop().result()
    assert busy.value.status == 503
    free.set()
    assert sum(not isinstance(each, Exception) for each in await asyncio.gather(*waiting, return_exceptions=True)) == 2


async def test_progress_comes_in_order_until_the_last_and_goes_on_unseen(line: Line) -> None:
    told: list[int] = []
    more, over = asyncio.Event(), asyncio.Event()

    async def work(_: Question[PullWish]) -> AsyncGenerator[PullProgress]:
        for number in range(5):
            if number == 3:
                await more.wait()
            told.append(number)
            yield PullProgress(status=str(number))
        over.set()

    await line.answerer.answer_often(RPC_PULL, PullWish, work)
    await line.runner.flush()
    wish = PullWish(provider="ollama", model="x")
    following = line.asker.follow(RPC_PULL, wish, PullProgress, user_id=USER, silence=5)
    async with aclosing(following) as answers:
        seen = [(await anext(answers)).status for _ in range(3)]
    assert seen == ["0", "1", "2"]
    more.set()
    async with asyncio.timeout(5):
        await over.wait()
    assert told == [0, 1, 2, 3, 4], "who leaves does not stop it"


async def test_every_process_hears_what_is_told_to_all(line: Line, servers: Servers) -> None:
    heard: asyncio.Queue[int] = asyncio.Queue()
    others = await connect(servers.nats_url("turn_runner"), "another")
    second = Answerer(others, "turn_runner")
    for number, answerer in enumerate((line.answerer, second)):

        async def work(_: Question[PullWish], number: int = number) -> None:
            heard.put_nowait(number)

        await answerer.hear(RPC_PULL_STOP, PullWish, work)
    await line.runner.flush()
    await others.flush()
    await line.asker.tell(RPC_PULL_STOP, PullWish(provider="ollama", model="x"), user_id=USER)
    async with asyncio.timeout(5):
        assert {await heard.get(), await heard.get()} == {0, 1}
    await second.close()
    await others.close()


async def test_answers_go_nowhere_but_to_askers(line: Line, servers: Servers) -> None:
    """Whatever a message names as the place for its answer: the callee refuses, and so would the broker."""

    async def work(_: Question[KeyTestWish]) -> KeyTested:
        return KeyTested(ok=True, took_ms=1)

    await line.answerer.answer(RPC_KEY_TEST, KeyTestWish, work)
    await line.runner.flush()
    admin = await connect(servers.nats_url("admin"), "listener")
    stray = await admin.subscribe("_INBOX.gateway.>")
    replies = await admin.subscribe("rpc.reply.gateway.>")
    await admin.flush()
    await admin.publish(RPC_KEY_TEST, b"not a question", reply="_INBOX.gateway.stolen")
    await admin.publish(RPC_KEY_TEST, b"not a question", reply="rpc.reply.gateway.a.b")
    await admin.publish(RPC_KEY_TEST, b"not a question", reply="rpc.reply.gateway.mine")
    answer = await replies.next_msg(5)
    assert answer.subject == "rpc.reply.gateway.mine"
    assert b"bad_question" in answer.data
    assert stray.pending_msgs == 0
    await admin.close()
