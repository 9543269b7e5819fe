"""A turn from the door to its end, on real servers, with a real runner and the scripted model."""

from __future__ import annotations

import time
from typing import Any

import pytest

from contracts.batches import START, BatchId
from store import turns
from tests.kit.model import ScriptedModel
from tests.kit.runner import LIMITS, Door, Told


async def answered(door: Door, words: str) -> tuple[Told, dict[str, Any]]:
    """Says it in a thread of its own; the log, and the stored answer."""
    thread_id = await door.thread()
    accepted = await door.say(thread_id, words)
    told = await door.hear(accepted.turn_id)
    stored = (await door.stored(thread_id))[-1]
    assert stored["id"] == str(accepted.message_id)
    return told, stored


def text_of(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def status(message: dict[str, Any]) -> tuple[str, str]:
    return message["metadata"]["retinue"]["status"], message["metadata"]["retinue"]["ended_by"]


async def test_a_message_is_answered_and_what_was_streamed_is_what_is_kept(door: Door) -> None:
    told, stored = await answered(door, "hello [[tokens=50 reasoning=10 rate=200]]")
    assert told.message == stored
    assert status(stored) == ("finished", "reply")
    assert [part["type"] for part in stored["parts"]] == ["step-start", "reasoning", "text"]
    assert len(text_of(stored).split()) == 50


async def test_start_is_a_batch_of_its_own_and_numbers_have_no_gap(door: Door) -> None:
    told, _ = await answered(door, "[[tokens=30 rate=100]]")
    assert [chunk["type"] for chunk in told.chunks[:2]] == ["start", "start-step"]
    assert told.batches[0].body.count(b"data: ") == 1
    assert [batch.id.number for batch in told.batches] == list(range(1, len(told.batches) + 1))
    assert all(batch.cut == START for batch in told.batches)
    assert [batch.is_end for batch in told.batches] == [False] * (len(told.batches) - 1) + [True]
    assert told.batches[-1].body.endswith(b"data: [DONE]\n\n")


async def test_tools_run_side_by_side_and_their_results_go_back(door: Door) -> None:
    words = (
        '[[tool=calculator:{"expression": "6*7"} tool=current_time:{"zone": "Europe/Berlin"}]] [[text="Forty-two."]]'
    )
    told, stored = await answered(door, words)
    assert told.message == stored
    first, second = [part for part in stored["parts"] if part["type"].startswith("tool-")]
    assert first["output"] == {"expression": "6*7", "result": 42}
    assert second["output"]["zone"] == "Europe/Berlin"
    assert first["providerExecuted"] is True
    assert text_of(stored) == "Forty-two."
    assert [part["type"] for part in stored["parts"]].count("step-start") == 2


async def test_malformed_arguments_are_given_back_twice_and_then_the_model_must_answer(
    door: Door, model: ScriptedModel
) -> None:
    told, stored = await answered(door, r'bad-args [[tool=calculator:"{\"expression\": " again]]')
    assert told.message == stored
    calls = [part for part in stored["parts"] if part["type"] == "tool-calculator"]
    assert [call["state"] for call in calls] == ["output-error"] * 3
    assert "JSON object" in calls[0]["errorText"]
    assert status(stored) == ("finished", "step_limit")
    assert model.served(user="bad-args")[-1]["tools"] in ([], None)


async def test_the_same_call_again_and_again_ends_the_loop(door: Door, model: ScriptedModel) -> None:
    _, stored = await answered(door, 'circles [[tool=calculator:{"expression": "1+1"} again]]')
    calls = [part for part in stored["parts"] if part["type"] == "tool-calculator"]
    assert len(calls) == 5
    fourth = model.served(user="circles")[3]
    assert "three times" in str(fourth["messages"][-1])
    assert status(stored) == ("finished", "step_limit")


async def test_an_unknown_tool_is_a_result_that_names_the_known_ones(door: Door) -> None:
    _, stored = await answered(door, '[[tool=teleport:{}]] [[text="Well."]]')
    call = next(part for part in stored["parts"] if part["type"] == "tool-teleport")
    assert "calculator" in call["errorText"]
    assert status(stored) == ("finished", "reply")


async def test_a_model_that_says_nothing_is_asked_once_more_without_tools(door: Door, model: ScriptedModel) -> None:
    model.forget()
    told, stored = await answered(door, "mute [[tokens=0]]")
    assert told.message == stored
    assert status(stored) == ("finished", "reply")
    first, second = model.served()
    assert first["tools"]
    assert not second["tools"]
    assert "empty" in second["user"]
    assert "empty" in text_of(stored)  # the scripted model repeats what it was told last


async def test_a_model_that_says_nothing_twice_fails_the_turn(door: Door, model: ScriptedModel) -> None:
    model.script({"rules": [{"user": "empty|silent-twice", "replies": [{"text": ""}]}]})
    try:
        _, stored = await answered(door, "silent-twice")
    finally:
        model.unscript()
    assert status(stored) == ("failed", "empty_answer")


async def test_a_busy_provider_is_asked_again(door: Door, model: ScriptedModel) -> None:
    told, stored = await answered(door, "busy [[status=429 retry_after=0 times=2 tokens=10]]")
    assert told.message == stored
    assert status(stored) == ("finished", "reply")
    assert [r["outcome"] for r in model.served(user="busy")] == ["status 429", "status 429", "finished"]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("status=401", "key_refused"),
        ("status=404", "model_unknown"),
        ("status=500", "model_busy"),
        ("html", "stream_broken"),
    ],
)
async def test_a_provider_that_fails_fails_the_turn_in_words(door: Door, fault: str, code: str) -> None:
    told, stored = await answered(door, f"[[{fault}]]")
    assert status(stored) == ("failed", code)
    error = stored["metadata"]["retinue"]["error"]
    assert error["error"] == code
    assert told.chunks[-1] == {"type": "error", "errorText": error["message"]}


@pytest.mark.parametrize("fault", ["reset=8", "cut=8", "garbage=8"])
async def test_a_stream_that_breaks_is_called_again_and_the_broken_text_does_not_count(door: Door, fault: str) -> None:
    thread_id = await door.thread()
    accepted = await door.say(thread_id, f"{fault} [[{fault} times=1 tokens=20 rate=100]]")
    told = await door.hear(accepted.turn_id)
    stored = (await door.stored(thread_id))[-1]
    assert told.message == stored
    assert status(stored) == ("finished", "reply")
    assert len(text_of(stored).split()) == 20
    assert told.batches[-1].id.epoch == 2
    query = "select state, epoch from attempts where turn_id = :t order by epoch"
    attempts = await door.rows(query, t=accepted.turn_id)
    assert [tuple(row) for row in attempts] == [("failed", 1), ("done", 2)]


async def test_a_break_after_a_tool_keeps_the_tool_and_supersedes_only_the_text(door: Door) -> None:
    words = '[[tool=calculator:{"expression": "2+2"}]] [[reset=5 times=1 tokens=12 rate=200]]'
    told, stored = await answered(door, words)
    assert told.message == stored
    assert [part["type"] for part in stored["parts"]] == ["step-start", "tool-calculator", "step-start", "text"]
    assert stored["parts"][1]["output"]["result"] == 4
    assert told.batches[-1].cut.epoch == 1
    assert told.batches[-1].cut > BatchId(1, 1)


async def test_a_stop_ends_the_model_within_300_ms(door: Door, model: ScriptedModel) -> None:
    thread_id = await door.thread()
    accepted = await door.say(thread_id, "stop-me [[tokens=2000 rate=50]]")
    await model.wait(started=1, user="stop-me")
    await _until_text(door, accepted.turn_id)
    asked = time.monotonic_ns()
    stopped = await door.stop(thread_id)
    assert stopped.turn_id == accepted.turn_id
    told = await door.hear(accepted.turn_id)
    (served,) = await model.wait(ended=1, user="stop-me")
    assert served["outcome"] == "cancelled"
    assert (served["ended_ns"] - asked) / 1e6 < 300
    stored = (await door.stored(thread_id))[-1]
    assert told.message == stored
    assert status(stored) == ("stopped", "user")
    assert text_of(stored)
    assert all(part.get("state") != "streaming" for part in stored["parts"])
    assert told.chunks[-1] == {"type": "abort", "reason": "user"}
    assert (await door.stop(thread_id)).turn_id is None


async def test_a_stop_whose_signal_is_lost_is_found_by_the_heartbeat(door: Door) -> None:
    thread_id = await door.thread()
    accepted = await door.say(thread_id, "[[tokens=2000 rate=50]]")
    await _until_text(door, accepted.turn_id)
    async with door.store.session(door.user_id) as session:
        await turns.stop(session, thread_id, None, LIMITS)
    await door.hear(accepted.turn_id)
    assert status((await door.stored(thread_id))[-1]) == ("stopped", "user")


async def test_a_stop_while_a_call_is_being_asked_for_leaves_no_call_without_result(door: Door) -> None:
    thread_id = await door.thread()
    accepted = await door.say(thread_id, '[[tokens=3 rate=50 tool=calculator:{"expression": "1+1"} think=0 hang=3]]')
    await _until_text(door, accepted.turn_id)
    await door.stop(thread_id)
    told = await door.hear(accepted.turn_id)
    stored = (await door.stored(thread_id))[-1]
    assert told.message == stored
    assert all(part["state"] in ("output-error", "done") for part in stored["parts"] if "state" in part)


async def test_a_newer_message_replaces_the_running_turn(door: Door) -> None:
    thread_id = await door.thread()
    first = await door.say(thread_id, "[[tokens=2000 rate=50]]")
    await _until_text(door, first.turn_id)
    second = await door.say(thread_id, "[[tokens=5]]")
    assert (second.status, second.stop) == ("waiting", first.turn_id)
    await door.hear(second.turn_id)
    history = await door.stored(thread_id)
    assert [status(m) for m in history if m["role"] == "assistant"] == [("stopped", "replaced"), ("finished", "reply")]


async def test_queued_messages_are_answered_in_order(door: Door, model: ScriptedModel) -> None:
    thread_id = await door.thread()
    said = [await door.say(thread_id, f"in-order {n} [[tokens=10 rate=100]]", busy="queue") for n in range(3)]
    for accepted in said:
        await door.hear(accepted.turn_id)
    history = await door.stored(thread_id)
    assert [m["role"] for m in history] == ["user", "assistant"] * 3
    last = model.served(user="in-order 2")[-1]["messages"]
    assert [m["role"] for m in last] == ["system", "user", "assistant", "user", "assistant", "user"]


async def test_the_ledger_has_a_row_and_the_provider_s_own_numbers(door: Door) -> None:
    thread_id = await door.thread()
    accepted = await door.say(thread_id, "[[tokens=25 reasoning=5]]")
    await door.hear(accepted.turn_id)
    (row,) = await door.rows("select * from ledger where turn_id = :t", t=accepted.turn_id)
    assert (row.status, row.ended_by, row.attempts, row.is_estimated) == ("finished", "reply", 1, False)
    assert row.output_tokens >= 25
    assert row.model_asked == "openai/scripted"
    assert row.first_token_ms is not None


async def test_usage_that_never_comes_is_an_estimate_and_says_so(door: Door) -> None:
    thread_id = await door.thread()
    accepted = await door.say(thread_id, "[[tokens=25 usage=none]]")
    await door.hear(accepted.turn_id)
    (row,) = await door.rows("select output_tokens, is_estimated from ledger where turn_id = :t", t=accepted.turn_id)
    assert row.is_estimated is True
    assert row.output_tokens > 0


async def _until_text(door: Door, turn_id: Any) -> None:
    """Returns when the log holds the first text."""
    subscription = await door.listen(turn_id)
    while b"text-delta" not in (await subscription.next_msg(20)).data:
        pass
    await subscription.unsubscribe()
