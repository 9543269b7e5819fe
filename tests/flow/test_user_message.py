"""The walk of a user message, executable: from the browser's text to the fact that strangers may react to.

Routing is in memory (see tests/kit/town.py for what is real and what is not): the wake-up goes through FastStream's
`TestNatsBroker` from the gateway's relay into the runner's handler. The chunk log goes over the real NATS, because the
in-memory broker cannot carry it: its writer and readers use JetStream's own acknowledgements and consumers.
"""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import httpx

from bus.connection import connect
from contracts.subjects import user_facts
from contracts.turns import TurnCompleted, TurnRequested
from store.outbox import of_event
from tests.flow.stories import message_of, registered, thread_of
from tests.kit.model import ScriptedModel
from tests.kit.runner import chunks_of
from tests.kit.stack import Servers
from tests.kit.story import step
from tests.kit.town import Town
from tests.kit.turns import Database

WORDS = 'What is 6*7? [[think=0.5 tool=calculator:{"expression": "6*7"}]] [[text="Forty-two." rate=20]]'
TRACE = "0af7651916cd43dd8448eb211c80319c"


async def test_the_walk_of_a_user_message(
    town: Town, database: Database, model: ScriptedModel, servers: Servers
) -> None:
    user_id = await registered(town)
    thread_id = await thread_of(town)
    facts = await stranger_listening_to(servers, user_id)

    with step("A browser posts text to `POST /api/threads/{id}/turn` and begins to read the answer's stream."):
        headers = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
        posting = asyncio.create_task(
            town.browser.post(f"/api/threads/{thread_id}/turn", json={"message": WORDS}, headers=headers)
        )

    with step(
        "The one door, `store.turns.accept`, stores message, turn and outbox row in one transaction; the turn is "
        "`queued`, since its thread is idle and its user has room."
    ):
        (served,) = await model.wait(started=1, user="6*7")
        row = await database.row("select * from turns where thread_id = :t", t=UUID(thread_id))
        turn_id = row.id
        assert row.question_id != row.message_id
        assert row.queued_at is not None

    with step("The gateway's relay publishes `turn.requested.v1` from the outbox: a wake-up with an id."):
        (wake_up,) = town.traffic.about(turn_id, "turn.requested.v1")
        request = TurnRequested.model_validate_json(wake_up.payload)
        assert (wake_up.by, request.turn_id, request.user_id) == ("gateway", turn_id, user_id)
        assert request.id == wake_up.id, "the event's id is the bus's message id"
        assert TRACE in wake_up.headers["traceparent"], "the caller's trace goes along"

    with step("The runner's handler claims the turn by raising its epoch, acknowledges, and starts it."):
        assert (row.status, row.epoch, row.runner_id) == ("running", 1, town.runner.lease.id)

    with step(
        "The loop calls the model with the conversation and the tools of the channel; the attempt's row was there "
        "before the call."
    ):
        assert [message["role"] for message in served["messages"]] == ["system", "user"]
        assert set(served["tools"]) == {"calculator", "current_time", "web_fetch"}
        attempts = await database.attempts(turn_id)
        assert attempts[0].step == 0

    with step(
        "What the model asks for is committed, the tool runs, and its result goes back to the model in the next step."
    ):
        _, second = await model.wait(ended=2, user="6*7")
        assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool"]
        assert '"result":42' in second["messages"][-1]["content"]
        (call,) = await database.calls(turn_id)
        assert (call.name, call.state, call.output["result"]) == ("calculator", "done", 42)

    with step("The log carries numbered batches, which the gateway copies to the browser as they come."):
        answer = await asyncio.wait_for(posting, 20)
        assert answer.status_code == 200
        assert answer.headers["x-retinue-turn"] == str(turn_id)
        ids = [line for line in answer.content.splitlines() if line.startswith(b"id: ")]
        assert ids == [b"id: 1.%d" % number for number in range(1, len(ids) + 1)]
        assert answer.content.endswith(b"data: [DONE]\n\n")

    with step(
        "The end is one transaction: last parts, ledger row, final status, and outbox rows for the log's end and for "
        "`turn.completed.v1`; the runner's relay publishes both."
    ):
        row = await database.turn(turn_id)
        assert (row.status, row.ended_by) == ("finished", "reply")
        (fact,) = await town.traffic.until(turn_id, "turn.completed.v1")
        assert [passed.by for passed in town.traffic.about(turn_id)] == ["gateway", "turn_runner", "turn_runner"]
        assert TRACE in fact.headers["traceparent"]
        ledger = await database.row("select * from ledger where turn_id = :t", t=turn_id)
        assert (ledger.status, ledger.attempts) == ("finished", 2)

    with step("What is kept is what was streamed: the page that is loaded later shows the same message."):
        kept = (await town.browser.get(f"/api/threads/{thread_id}/messages")).json()["items"][-1]
        assert kept == message_of(answer.content)
        assert [part["type"] for part in kept["parts"]] == ["step-start", "tool-calculator", "step-start", "text"]

    with step("Strangers hear the fact: whoever follows this user, on `fact.<user>.>`."):
        heard = TurnCompleted.model_validate_json((await facts.next_msg(10)).data)
        assert (heard.turn_id, heard.thread_id, heard.status) == (turn_id, UUID(thread_id), "finished")


async def test_a_stop_walks_past_the_outbox_and_reaches_the_holder(
    town: Town, database: Database, model: ScriptedModel
) -> None:
    await registered(town)
    thread_id = await thread_of(town)
    url = f"/api/threads/{thread_id}/turn"
    posting = asyncio.create_task(town.browser.post(url, json={"message": "stop-here [[tokens=2000 rate=20]]"}))
    await model.wait(started=1, user="stop-here")

    with step("`DELETE` marks the turn's row, commits, and says so on `ctl.stop.<turn>`, which only its holder heeds."):
        stopped = await town.browser.delete(url)
        assert stopped.json()["status"] == "stopping"

    with step("The holder drops the model's connection, closes what is open, and ends the turn as stopped."):
        (served,) = await model.wait(ended=1, user="stop-here")
        assert served["outcome"] == "cancelled"
        answer = await asyncio.wait_for(posting, 10)
        assert chunks_of(answer.content)[-1] == {"type": "abort", "reason": "user"}
        row = await database.row("select * from turns where thread_id = :t", t=UUID(thread_id))
        assert (row.status, row.ended_by, row.epoch) == ("stopped", "user", 1)


async def test_a_repeated_wake_up_is_only_a_wake_up(town: Town, database: Database, model: ScriptedModel) -> None:
    user_id = await registered(town)
    thread_id = await thread_of(town)
    answer = await town.browser.post(f"/api/threads/{thread_id}/turn", json={"message": "only-once [[tokens=3]]"})
    turn_id = UUID(answer.headers["x-retinue-turn"])

    with step("A wake-up that comes again finds nothing to claim: the turn ran once."):
        again = of_event(TurnRequested(user_id=user_id, turn_id=turn_id))
        town.gateway.relay.after_commit([again])
        await town.traffic.until(turn_id, "turn.requested.v1", count=2)
        await model.wait(ended=1, user="only-once")
        assert len(model.served(user="only-once")) == 1
        assert (await database.turn(turn_id)).epoch == 1


async def test_the_next_message_of_a_busy_thread_is_woken_by_the_end_of_the_one_before(
    town: Town, database: Database, model: ScriptedModel
) -> None:
    await registered(town)
    thread_id = await thread_of(town)
    url = f"/api/threads/{thread_id}/turn"

    async def say(words: str) -> httpx.Response:
        return await town.browser.post(url, json={"message": words, "busy": "queue"})

    first = asyncio.create_task(say("in-line one [[tokens=10 rate=20]]"))
    await model.wait(started=1, user="in-line one")
    second = asyncio.create_task(say("in-line two [[tokens=3]]"))

    with step("A message to a busy thread waits in Postgres; nothing about it is on the bus."):
        answers = await asyncio.gather(first, second)
        turn_ids = [UUID(answer.headers["x-retinue-turn"]) for answer in answers]

    with step("The transaction that ends the turn before promotes it, and the runner's own relay wakes for it."):
        (wake_up,) = town.traffic.about(turn_ids[1], "turn.requested.v1")
        assert wake_up.by == "turn_runner"
        rows = [await database.turn(turn_id) for turn_id in turn_ids]
        assert [row.status for row in rows] == ["finished", "finished"]
        assert rows[1].queued_at >= rows[0].ended_at


async def stranger_listening_to(servers: Servers, user_id: UUID) -> Any:
    """A service of tomorrow, following one user; the connection ends with the process."""
    client = await connect(servers.nats_url("admin"), "stranger")
    subscription = await client.subscribe(user_facts(user_id))
    await client.flush()
    return subscription
