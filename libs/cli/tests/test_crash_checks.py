"""The checks of a crash run: a good world passes, and each broken promise is found in a world that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cli.bench.crash.report import judged, uncovered
from cli.bench.crash.takeovers import measured
from cli.bench.crash.world import (
    Attempt,
    Call,
    Holding,
    LedgerRow,
    Logged,
    Mark,
    Seen,
    Sent,
    Served,
    Struck,
    Turn,
    World,
)
from contracts.batches import START, BatchId
from contracts.frames import frame

TURN, THREAD, QUESTION, ANSWER = "turn-1", "thread-1", "message-1", "message-2"
METADATA = {"retinue": {"turn": TURN, "status": "finished", "ended_by": "reply"}}

CHUNKS: list[list[dict[str, Any]]] = [
    [{"type": "start", "messageId": ANSWER, "messageMetadata": {"retinue": {"turn": TURN, "status": "running"}}}],
    [{"type": "start-step"}, {"type": "text-start", "id": "1"}, {"type": "text-delta", "id": "1", "delta": "Hel"}],
    [{"type": "text-delta", "id": "1", "delta": "lo"}, {"type": "text-end", "id": "1"}],
    [{"type": "finish-step"}, {"type": "finish", "finishReason": "stop", "messageMetadata": METADATA}],
]
MESSAGE: dict[str, Any] = {
    "id": ANSWER,
    "role": "assistant",
    "metadata": METADATA,
    "parts": [{"type": "step-start"}, {"type": "text", "text": "Hello", "state": "done"}],
}


def batch(epoch: int, number: int, chunks: list[dict[str, Any]], at: float, cut: BatchId = START) -> Logged:
    is_end = any(chunk["type"] in ("finish", "abort", "error") for chunk in chunks)
    id = BatchId(epoch, number)
    return Logged(id, cut, is_end, at, frame(chunks, id, done=is_end))


def good() -> World:
    """One message, one side effect; its first runner died after the first words, and the second said it all."""
    first = [batch(1, number, CHUNKS[number - 1], 100.0 + number) for number in (1, 2)]
    second = [batch(2, number, CHUNKS[number - 1], 110.0 + number / 10) for number in (1, 2, 3, 4)]
    return World(
        sent=[Sent("c0-1", THREAD, "marks", 100.0, TURN)],
        seen=[Seen(TURN, "c0-1 sender", MESSAGE, True)],
        turns=[Turn(TURN, "c0-1", THREAD, ANSWER, "finished", "reply", 2, 1, 100.0, 110.4)],
        attempts=[
            Attempt("a1", TURN, 1, "interrupted", "interrupted", None, None, True, 100.5, 109.0),
            Attempt("a2", TURN, 2, "done", "stop", 12, 2, False, 109.1, 110.4),
        ],
        calls=[Call("k1", TURN, "leave_mark", "done", 1, 101.0, 101.5)],
        ledger=[LedgerRow(TURN, 2, 12, 2, True)],
        served=[Served("c0-1", 100.6, "cancelled", 12, 1, "Hel"), Served("c0-1", 109.2, "finished", 12, 2, "Hello")],
        marks=[Mark("c0-1.1", 17, 101.2)],
        struck=[Struck(103.0, "kill", "turn-runner-1", pid=17, holdings=[held()])],
        stored={THREAD: [{"id": QUESTION, "role": "user", "parts": []}, MESSAGE]},
        log={TURN: [*first, *second]},
    )


def held(epoch: int = 1, *, runner: str = "turn-runner-1", is_newest: bool = True) -> Holding:
    return Holding(TURN, "running", epoch, runner, is_newest)


def promises(world: World) -> set[str]:
    return {wrong.promise for wrong in judged(world)}


def test_a_world_that_kept_its_promises_passes() -> None:
    world = good()
    assert judged(world) == []
    ((seconds, turn),) = measured(world).runner
    assert (round(seconds, 3), turn) == (7.1, TURN)


def turn_of(world: World, **changed: Any) -> None:
    world.turns[0] = replace(world.turns[0], **changed)


def lose_the_row(world: World) -> None:
    world.turns.clear()


def lose_the_answer(world: World) -> None:
    world.sent[0] = replace(world.sent[0], turn=None)
    world.turns.clear()


def fail_it(world: World) -> None:
    turn_of(world, status="failed", ended_by="model_error")


def fail_it_within_the_budget(world: World) -> None:
    turn_of(world, status="failed", ended_by="interrupted", recoveries=4)
    world.struck *= 8


def fail_it_without_faults(world: World) -> None:
    turn_of(world, status="failed", ended_by="interrupted", recoveries=6)


def stop_it_unasked(world: World) -> None:
    turn_of(world, status="stopped", ended_by="user")


def take_the_key_twice(world: World) -> None:
    world.turns.append(replace(world.turns[0], id="turn-2"))


def answer_twice(world: World) -> None:
    world.stored[THREAD].append(MESSAGE | {"id": "message-3"})


def act_twice(world: World) -> None:
    world.marks *= 2


def leave_it_running(world: World) -> None:
    turn_of(world, status="running", ended_at=None)


def leave_the_outbox_full(world: World) -> None:
    world.unsent = 1


def show_something_else(world: World) -> None:
    world.seen[0] = replace(world.seen[0], message=MESSAGE | {"parts": MESSAGE["parts"][:1]})


def show_no_end(world: World) -> None:
    world.seen[0] = replace(world.seen[0], is_ended=False)


def say_what_nobody_said(world: World) -> None:
    world.served[1] = replace(world.served[1], text="Hello there")


def finish_without_a_word(world: World) -> None:
    world.stored[THREAD][1] = MESSAGE | {"parts": MESSAGE["parts"][:1]}


def stop_in_other_words(world: World) -> None:
    turn_of(world, status="stopped")
    world.sent[0] = replace(world.sent[0], was_stopped=True)
    world.served[:] = [replace(call, text="Hal") for call in world.served]


def forget_an_attempt(world: World) -> None:
    del world.attempts[0]
    world.ledger[0] = replace(world.ledger[0], attempts=1)


def begin_an_attempt_after_its_call(world: World) -> None:
    world.attempts[0] = replace(world.attempts[0], started_at=101.0)


def invent_a_call(world: World) -> None:
    del world.served[1]


def charge_other_tokens(world: World) -> None:
    world.served[1] = replace(world.served[1], output_tokens=3)


def sell_an_estimate_as_a_fact(world: World) -> None:
    world.attempts[0] = replace(world.attempts[0], is_estimated=False)


def leave_an_attempt_open(world: World) -> None:
    world.attempts[0] = replace(world.attempts[0], state="open")


def call_for_nobody(world: World) -> None:
    world.served.append(Served("c9-9", 100.0, "finished", 1, 1))


def lose_the_ledger(world: World) -> None:
    world.ledger.clear()


def count_wrong_in_the_ledger(world: World) -> None:
    world.ledger[0] = replace(world.ledger[0], output_tokens=5)


def end_never(world: World) -> None:
    del world.log[TURN][-1]


def end_twice(world: World) -> None:
    world.log[TURN].append(batch(2, 5, CHUNKS[3], 112.0))


def leave_a_hole(world: World) -> None:
    del world.log[TURN][4]


def say_two_things_under_one_name(world: World) -> None:
    world.log[TURN].append(replace(world.log[TURN][3], body=b"data: {}\n\nid: 2.2\n\n"))


def store_something_else(world: World) -> None:
    message = MESSAGE | {"parts": MESSAGE["parts"][:1]}
    world.stored[THREAD][1] = message
    world.seen[0] = replace(world.seen[0], message=message)


def take_over_late(world: World) -> None:
    world.struck[0] = replace(world.struck[0], at=98.0)


def go_on_late(world: World) -> None:
    world.struck[0] = Struck(104.0, "kill", "nats", back_at=105.0, holdings=[held()])


def end_late_in_the_log(world: World) -> None:
    turn_of(world, ended_at=98.0)


def fall_asleep(world: World) -> None:
    world.struck.append(Struck(102.0, "sleep", "turn-runner-1", back_at=109.15, holdings=[held()]))


def start_a_tool_on_waking(world: World) -> None:
    fall_asleep(world)
    world.calls[0] = replace(world.calls[0], started_at=109.2)


def let_a_late_batch_count(world: World) -> None:
    fall_asleep(world)
    world.log[TURN][3] = batch(1, 2, CHUNKS[1], 109.5)
    world.log[TURN][4:] = [batch(2, number, CHUNKS[number - 1], 110.0, BatchId(1, 2)) for number in (3, 4)]


def write_on_waking(world: World) -> None:
    fall_asleep(world)
    world.attempts[0] = replace(world.attempts[0], ended_at=109.2)


@pytest.mark.parametrize(
    ("promise", "breaks"),
    [
        ("lost", lose_the_row),
        ("lost", lose_the_answer),
        ("lost", fail_it),
        ("lost", fail_it_within_the_budget),
        ("lost", fail_it_without_faults),
        ("lost", stop_it_unasked),
        ("doubled", take_the_key_twice),
        ("doubled", answer_twice),
        ("doubled", act_twice),
        ("stuck", leave_it_running),
        ("stuck", leave_the_outbox_full),
        ("unequal", show_something_else),
        ("unequal", show_no_end),
        ("garbled", say_what_nobody_said),
        ("garbled", finish_without_a_word),
        ("garbled", stop_in_other_words),
        ("unbooked", forget_an_attempt),
        ("unbooked", begin_an_attempt_after_its_call),
        ("unbooked", invent_a_call),
        ("unbooked", charge_other_tokens),
        ("unbooked", sell_an_estimate_as_a_fact),
        ("unbooked", leave_an_attempt_open),
        ("unbooked", call_for_nobody),
        ("unsettled", lose_the_ledger),
        ("unsettled", count_wrong_in_the_ledger),
        ("broken log", end_never),
        ("broken log", end_twice),
        ("broken log", leave_a_hole),
        ("broken log", say_two_things_under_one_name),
        ("broken log", store_something_else),
        ("slow", take_over_late),
        ("slow", go_on_late),
        ("slow", end_late_in_the_log),
        ("woke and acted", start_a_tool_on_waking),
        ("woke and acted", write_on_waking),
        ("woke and acted", let_a_late_batch_count),
    ],
)
def test_a_broken_promise_is_found(promise: str, breaks: Callable[[World], None]) -> None:
    world = good()
    breaks(world)
    assert promise in promises(world)


def open_an_attempt_and_die_before_the_call(world: World) -> None:
    del world.served[0]


@pytest.mark.parametrize("allowed", [fall_asleep, open_an_attempt_and_die_before_the_call])
def test_what_is_allowed_is_no_fault(allowed: Callable[[World], None]) -> None:
    world = good()
    allowed(world)
    assert promises(world) == set()


def test_a_turn_beyond_its_budget_may_fail() -> None:
    world = good()
    turn_of(world, status="failed", ended_by="interrupted", recoveries=6)
    world.struck *= 6
    assert "lost" not in promises(world)


def test_a_takeover_counts_from_the_last_fault_that_delayed_it() -> None:
    world = good()
    world.struck.append(Struck(106.0, "kill", "turn-runner-2", holdings=[held()]))  # it would have taken over
    ((seconds, _),) = measured(world).runner
    assert round(seconds, 3) == 4.1


def test_a_fault_elsewhere_is_none_of_its_business() -> None:
    world = good()
    world.struck.insert(0, Struck(102.5, "kill", "turn-runner-2", holdings=[held()]))
    world.struck.append(Struck(107.0, "kill", "valkey"))
    ((seconds, _),) = measured(world).runner
    assert round(seconds, 3) == 7.1


def test_times_on_a_busy_machine_are_not_judged_and_everything_else_is() -> None:
    world = good()
    take_over_late(world)
    act_twice(world)
    world.struck[0] = replace(world.struck[0], back_at=world.struck[0].at + 9)
    assert measured(world).say_nothing
    assert promises(world) == {"doubled"}


def test_what_was_hit_too_seldom_is_said() -> None:
    said = {wrong.what.partition(" was")[0] for wrong in uncovered(good(), 1)}
    assert "turn-runner-1" not in said
    assert {"nats", "gateway-1", "mid_text", "no sleeper lost a turn that it could have touched when it woke"} <= said
