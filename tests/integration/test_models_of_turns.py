"""Which models a turn asks, what they cost, what they saw, and what the thread is called afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from contracts.hints import Hint
from contracts.subjects import hint_subject
from store.repositories import inspector, messages
from tests.kit.gateway import Gateway, person_at
from tests.kit.model import ScriptedModel
from tests.kit.runner import Door, runner_on
from tests.kit.stack import Servers

FALLBACKS = ["openai/second", "nowhere/x", "openai/third"]


@pytest.fixture(scope="module")
def runner(servers: Servers, model: ScriptedModel) -> Iterator[Any]:
    env = {
        "OPENAI_BASE_URL": model.url,
        "RETINUE_MODEL": "openai/first",
        "RETINUE_MODEL_CHEAP": "openai/tiny",
        "RETINUE_MODEL_RETRIES": "1",
        "RETINUE_MODEL_RETRY_PAUSE": "0.01",
        "RETINUE_TITLES": "true",
    }
    with runner_on(servers, env) as process:
        yield process


@pytest.fixture
async def door(servers: Servers, runner: Any) -> AsyncIterator[Door]:
    opened = await Door.opened(servers)
    yield opened
    await opened.close()


@pytest.fixture(autouse=True)
def script(model: ScriptedModel) -> Iterator[None]:
    """The model for titles names everything alike; `first` and `second` fail when they are told to."""
    rules = [
        {"model": "tiny", "user": "no title", "replies": [{"status": 500}]},
        {"model": "tiny", "replies": [{"text": '"Taxes for three cats."'}]},
        {"model": "first", "user": "fail first", "replies": [{"status": 503}]},
        {"model": "first", "user": "break first", "replies": [{"tokens": 20, "cut": 5}]},
        {"model": "second", "user": "fail", "replies": [{"status": 400}]},
        {
            "model": "third",
            "user": "with a sum",
            "replies": [
                {"tools": [{"name": "calculator", "arguments": {"expression": "1+1"}}]},
                {"text": "Two."},
            ],
        },
    ]
    model.script({"rules": rules})
    yield
    model.unscript()


async def set_agent(door: Door, **values: Any) -> None:
    names = ", ".join(f"{name} = :{name}" for name in values)
    async with door.store.session(door.user_id) as session:
        await session.execute(text(f"update agents set {names} where id = :agent"), values | {"agent": door.agent_id})


async def asked(door: Door, turn_id: UUID) -> list[tuple[str, str, str]]:
    rows = await door.rows(
        "select model_asked, state, outcome from attempts where turn_id = :t and purpose = 'answer'"
        " order by started_at, id",
        t=turn_id,
    )
    return [tuple(row) for row in rows]


async def test_after_its_retries_the_next_model_is_asked_and_stays(door: Door, model: ScriptedModel) -> None:
    await set_agent(door, fallback_models=FALLBACKS)
    thread = await door.thread()
    accepted = await door.say(thread, "fail first with a sum")
    told = await door.hear(accepted.turn_id)
    (stored,) = [message for message in await door.stored(thread) if message["role"] == "assistant"]
    assert told.message == stored
    assert await asked(door, accepted.turn_id) == [
        ("openai/first", "failed", "model_busy"),
        ("openai/first", "failed", "model_busy"),
        ("openai/second", "failed", "request_refused"),
        ("openai/third", "done", "tool_calls"),
        ("openai/third", "done", "stop"),
    ]
    facts = stored["metadata"]["retinue"]
    assert (facts["status"], facts["model"]) == ("finished", "openai/third")


async def test_an_answer_that_broke_is_taken_back_and_given_by_another(door: Door, model: ScriptedModel) -> None:
    await set_agent(door, fallback_models=["openai/third"])
    thread = await door.thread()
    accepted = await door.say(thread, "break first")
    told = await door.hear(accepted.turn_id)
    assert told.message == (await door.stored(thread))[-1]
    assert [row[0] for row in await asked(door, accepted.turn_id)] == ["openai/first"] * 2 + ["openai/third"]


async def test_when_nobody_answers_the_chosen_model_s_failure_is_told(door: Door) -> None:
    await set_agent(door, fallback_models=["openai/second"])
    thread = await door.thread()
    accepted = await door.say(thread, "fail first and all")
    await door.hear(accepted.turn_id)
    facts = (await door.stored(thread))[-1]["metadata"]["retinue"]
    assert (facts["status"], facts["ended_by"]) == ("failed", "model_busy")
    assert [row[2] for row in await asked(door, accepted.turn_id)] == ["model_busy", "model_busy", "request_refused"]


async def test_thread_agent_and_capabilities_choose(door: Door, model: ScriptedModel) -> None:
    await set_agent(door, model="openai/of-agent", capabilities=["calculator"], effort="high")
    thread, other = await door.thread(), await door.thread()
    async with door.store.session(door.user_id) as session:
        await session.execute(text("update threads set model = 'openai/of-thread' where id = :t"), {"t": other})
    for place, name in ((thread, "of-agent"), (other, "of-thread")):
        await door.hear((await door.say(place, f"chosen {name}")).turn_id)
        (served,) = model.served(model=name)
        assert served["tools"] == ["calculator"]
        assert "Your tools here: calculator." in served["messages"][0]["content"]
        assert "reasoning_effort" not in served["request"], "the catalogue knows no effort of this model"


async def named(door: Door, thread: UUID) -> str | None:
    (row,) = await door.rows("select title from threads where id = :t", t=thread)
    return row.title


async def beside(door: Door, turn_id: UUID, state: str) -> list[Any]:
    """The title's attempt, once it has come to this state."""
    for _ in range(500):
        async with door.store.session(door.user_id) as session:
            found = [each for each in await inspector.attempts(session, turn_id) if each.purpose == "title"]
        if [each.state for each in found] == [state]:
            return found
        await asyncio.sleep(0.02)
    raise AssertionError(f"no title's attempt is {state}: {found}")


async def test_the_first_exchange_names_the_thread_and_the_page_hears_of_it(door: Door, model: ScriptedModel) -> None:
    hints = await door.listener.subscribe(hint_subject(door.user_id))
    thread = await door.thread()
    accepted = await door.say(thread, "How do I tax my cats?")
    assert await named(door, thread) == "How do I tax my cats?"
    while Hint.model_validate_json((await hints.next_msg(10)).data) != Hint.of_thread(door.user_id, thread):
        pass
    assert await named(door, thread) == "Taxes for three cats"
    (title,) = await beside(door, accepted.turn_id, "done")
    assert (title.model_asked, title.outcome) == ("openai/tiny", "stop")
    (served,) = model.served(model="tiny", user="tax my cats")
    assert served["tools"] in ([], None)
    (ledger,) = await door.rows("select * from ledger where turn_id = :t", t=accepted.turn_id)
    (sums,) = await door.rows(
        "select count(*) as attempts, sum(output_tokens) as output from attempts where turn_id = :t", t=accepted.turn_id
    )
    assert (ledger.attempts, ledger.output_tokens, ledger.model_asked) == (2, sums.output, "openai/first")
    later = await door.say(thread, "And dogs?")
    await door.hear(later.turn_id)
    assert len(model.served(model="tiny", user="cats")) == 1, "a thread is named once"


async def test_who_was_named_by_a_person_keeps_that_and_a_failed_title_changes_nothing(
    door: Door, model: ScriptedModel
) -> None:
    thread = await door.thread()
    async with door.store.session(door.user_id) as session:
        await session.execute(text("update threads set title = 'Mine' where id = :t"), {"t": thread})
    await door.hear((await door.say(thread, "unnamed cats")).turn_id)
    other = await door.thread()
    accepted = await door.say(other, "no title please")
    await door.hear(accepted.turn_id)
    (title,) = await beside(door, accepted.turn_id, "failed")
    assert title.outcome == "model_busy"
    assert await named(door, other) == "no title please"
    assert await named(door, thread) == "Mine"
    assert model.served(model="tiny", user="unnamed cats") == []


async def test_what_the_model_saw_is_kept_once_for_all_turns_that_saw_the_same(
    door: Door, model: ScriptedModel
) -> None:
    await set_agent(door, standing_orders="Only in rhymes.")
    thread = await door.thread()
    turn_ids = [(await door.say(thread, words, busy="queue")).turn_id for words in ("see one", "see two")]
    for turn_id in turn_ids:
        await door.hear(turn_id)
    sent = [model.served(user=words)[0]["messages"][0]["content"] for words in ("see one", "see two")]
    async with door.store.session(door.user_id) as session:
        seen = [await inspector.prompt(session, turn_id) for turn_id in turn_ids]
    for prompt, system in zip(seen, sent, strict=True):
        assert prompt is not None
        assert "\n\n".join([*(block["text"] for block in prompt.blocks), prompt.tail]) == system
        assert "Only in rhymes." in system
        assert [tool["name"] for tool in prompt.tools] == ["calculator", "current_time", "web_fetch"]
    kept = await door.rows("select count(*) as n from prompts where blocks::text like '%Only in rhymes.%'")
    assert kept[0].n == 1


async def test_a_page_of_messages_says_who_answered(door: Door) -> None:
    thread = await door.thread()
    await door.hear((await door.say(thread, "who are you")).turn_id)
    async with door.store.session(door.user_id) as session:
        (_, answer), _ = await messages.page(session, thread)
    assert answer["metadata"]["retinue"]["model"] == "openai/first"


def test_a_turn_can_be_looked_into(gateway: Gateway, runner: Any, model: ScriptedModel) -> None:
    person, stranger = person_at(gateway), person_at(gateway)
    ask = person.program
    agent = ask.get("/api/agents").json()["items"][0]["id"]
    ask.patch(f"/api/agents/{agent}", json={"fallback_models": ["openai/third"], "standing_orders": "Be exact."})
    thread = ask.post("/api/threads").json()["id"]
    sent = ask.post(f"/api/threads/{thread}/turn", json={"message": "fail first, look inside with a sum"})
    assert "Two." in sent.text
    turn_id = sent.headers["x-retinue-turn"]
    turn = ask.get(f"/api/turns/{turn_id}").json()
    assert (turn["status"], turn["ended_by"], turn["model"]) == ("finished", "reply", "openai/third")
    first, second = turn["steps"]
    assert [(each["model_asked"], each["outcome"]) for each in first["attempts"]] == [
        ("openai/first", "model_busy"),
        ("openai/first", "model_busy"),
        ("openai/third", "tool_calls"),
    ]
    (call,) = first["calls"]
    assert (call["name"], call["state"], call["hosted"]) == ("calculator", "done", False)
    assert call["input_size"] == len('{"expression":"1+1"}')
    assert (len(second["attempts"]), second["calls"]) == (1, [])
    assert turn["duration_ms"] >= turn["first_token_ms"] >= 0
    assert turn["usage"]["output"] > 0
    assert turn["usage"]["cost_micros"] is None, "nobody knows a price"
    assert turn["usage"]["unknown_cost"] >= 4

    seen = ask.get(f"/api/turns/{turn_id}/prompt").json()
    served, next_step = model.served(model="third", user="fail first, look inside with a sum")
    assert next_step["messages"][: len(served["messages"])] == served["messages"], (
        "a step's prompt begins the next one's"
    )
    assert "\n\n".join(block["text"] for block in seen["blocks"]) == served["messages"][0]["content"]
    assert [block["stable"] for block in seen["blocks"]] == [True] * (len(seen["blocks"]) - 1) + [False]
    assert seen["messages"] == [
        {"role": "user", "text": "fail first, look inside with a sum", "calls": [], "results": []}
    ]
    assert [tool["name"] for tool in seen["tools"]] == served["tools"]

    later = ask.post(f"/api/threads/{thread}/turn", json={"message": "and now"}).headers["x-retinue-turn"]
    _, answer, last, _ = ask.get(f"/api/turns/{later}/prompt").json()["messages"]
    assert answer["calls"][0]["input"] == {"expression": "1+1"}
    assert answer["results"][0]["output"] == {"expression": "1+1", "result": 2}
    assert last["text"] == "Two."
    for path in (f"/api/turns/{turn_id}", f"/api/turns/{turn_id}/prompt"):
        assert stranger.program.get(path).status_code == 404
