"""Turns that are taken from their holder are dropped without a word.

The heartbeat is the runner's own; whoever takes the turn is played by the test, with the store's own acts.
"""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from bus.connection import connect
from bus.publish import publish_stored
from contracts.ids import uuid7
from contracts.turns import TurnRequested, TurnStatus
from store.turns import claim
from store.turns.closing import close_turn
from tests.flow.stories import message_of, registered, thread_of
from tests.kit.model import ScriptedModel
from tests.kit.stack import Servers
from tests.kit.story import step
from tests.kit.town import Town
from tests.kit.turns import Database


class Answering:
    """A turn whose model has begun to speak."""

    def __init__(self, town: Town, database: Database, thread_id: str, posting: asyncio.Task[Any], row: Any) -> None:
        self.thread_id = thread_id
        self.posting = posting
        self.turn_id: UUID = row.id
        self.user_id: UUID = row.user_id
        self._town = town
        self._database = database

    @classmethod
    async def of(cls, town: Town, database: Database, model: ScriptedModel, words: str) -> Answering:
        await registered(town)
        thread_id = await thread_of(town)
        url = f"/api/threads/{thread_id}/turn"
        posting = asyncio.create_task(town.browser.post(url, json={"message": words}))
        await model.wait(started=1, user=words.split()[0])
        row = await database.row("select * from turns where thread_id = :t", t=UUID(thread_id))
        return cls(town, database, thread_id, posting, row)

    async def back_to_the_queue(self) -> None:
        """What a sweep does that takes its runner for dead."""
        await self._database.rows("update turns set status = 'queued', runner_id = null where id = :t", t=self.turn_id)

    async def row(self) -> Any:
        return await self._database.turn(self.turn_id)

    async def kept(self) -> dict[str, Any]:
        answer = await self._town.browser.get(f"/api/threads/{self.thread_id}/messages")
        return answer.json()["items"][-1]

    async def replayed(self) -> dict[str, Any]:
        """What somebody sees who looks at the turn after its end."""
        answer = await self._town.browser.get(f"/api/threads/{self.thread_id}/turn", params={"turn": str(self.turn_id)})
        return message_of(answer.content)


async def test_a_holder_whose_turn_was_taken_drops_it_without_a_word(
    town: Town, database: Database, model: ScriptedModel, servers: Servers
) -> None:
    answering = await Answering.of(town, database, model, "taken-away [[tokens=2000 rate=20]]")

    with step("Another runner claims the turn; the next heartbeat tells the old holder, which drops the model's call."):
        await answering.back_to_the_queue()
        async with town.runner.store.session(answering.user_id) as session:
            held = await claim(session, answering.turn_id, uuid7())
        assert held is not None
        (served,) = await model.wait(ended=1, user="taken-away")
        assert served["outcome"] == "cancelled"

    with step("It writes nothing more: the row is the new holder's."):
        row = await answering.row()
        assert (row.status, row.epoch, row.runner_id) == ("running", 2, held.runner_id)
        assert town.traffic.about(answering.turn_id, "completed") == []

    with step("Whoever ends the turn ends the stream for everybody; the old holder's text does not count."):
        async with town.runner.store.system() as session:
            outbox = await close_turn(
                session, answering.turn_id, TurnStatus.RUNNING, TurnStatus.FAILED, "interrupted", {"message": "Again."}
            )
        client = await connect(servers.nats_url("turn_runner"), "another-runner")
        for message in outbox:
            await publish_stored(client, message.subject, message.payload, message.id)
        await client.close()
        streamed = (await asyncio.wait_for(answering.posting, 20)).content
        assert b"data-superseded" in streamed
        assert await answering.replayed() == await answering.kept()
        assert (await answering.kept())["parts"] == []


async def test_a_turn_that_comes_back_to_its_own_holder_begins_behind_the_cut(
    town: Town, database: Database, model: ScriptedModel
) -> None:
    answering = await Answering.of(town, database, model, "boomerang [[tokens=30 rate=20]]")

    with step("The same runner claims it again under a higher epoch: the stale task ends, the new one goes on."):
        await answering.back_to_the_queue()
        await town.wake(TurnRequested(user_id=answering.user_id, turn_id=answering.turn_id).to_bytes())
        first, second = await model.wait(ended=2, user="boomerang")
        assert (first["outcome"], second["outcome"]) == ("cancelled", "finished")
        await asyncio.wait_for(answering.posting, 20)
        row = await answering.row()
        assert (row.epoch, row.status, row.ended_by) == (2, "finished", "reply")

    with step("What is kept is what a replay shows, and the ledger knows of both calls."):
        assert await answering.replayed() == await answering.kept()
        attempts = await database.attempts(answering.turn_id)
        assert [(attempt.epoch, attempt.state) for attempt in attempts] == [(1, "interrupted"), (2, "done")]


async def test_a_heartbeat_that_crosses_an_end_takes_nothing_away(
    town: Town, database: Database, model: ScriptedModel
) -> None:
    await registered(town)
    threads = [await thread_of(town) for _ in range(20)]

    with step("Heartbeats that find a turn ended in the database do not cut short the holder that is just ending it."):
        beating = asyncio.create_task(beat_on(town))
        quietly = {"prefer": "respond-async"}
        answers = [
            await town.browser.post(
                f"/api/threads/{id}/turn", json={"message": "crossing [[tokens=2]]"}, headers=quietly
            )
            for id in threads
        ]
        turn_ids = [UUID(answer.json()["turn"]) for answer in answers]
        for turn_id in turn_ids:
            await town.traffic.until(turn_id, "turn.completed.v1")
            await town.traffic.until(turn_id, f"log.{turn_id}")
            row = await database.turn(turn_id)
            assert (row.status, row.ended_by, row.epoch) == ("finished", "reply", 1)
        assert not beating.done(), "it beat to the end"
        beating.cancel()


async def beat_on(town: Town) -> None:
    while True:
        await town.runner.lease.beat(town.slots)
