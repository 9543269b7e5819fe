"""Promises about money: each call that the model saw is one attempt, with the tokens that it had."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from cli.bench.crash.world import FINAL, Attempt, Served, Turn, World, Wrong

_CLOCK = 0.05
"""Seconds by which the clocks of two processes may be read in the wrong order."""


def unbooked(world: World) -> Iterator[Wrong]:
    """Every call has an attempt, and every completed attempt a call with its tokens."""
    attempts: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in world.attempts:
        attempts[attempt.turn].append(attempt)
    served: dict[str, list[Served]] = defaultdict(list)
    for call in world.served:
        served[call.key].append(call)
    for key, calls in served.items():
        if not world.named(key):
            yield Wrong("unbooked", f"the model was called {len(calls)} times for {key}, which has no turn")
    for turn in world.turns:
        yield from _of_turn(turn, attempts[turn.id], served[turn.key or ""])


def _of_turn(turn: Turn, attempts: list[Attempt], calls: list[Served]) -> Iterator[Wrong]:
    pairs = _paired(calls, attempts)
    for number, call in enumerate(calls):
        if number not in pairs:
            said = f"a call ({call.outcome}, {call.input_tokens} + {call.output_tokens} tokens) has no attempt"
            yield Wrong("unbooked", f"{said}; there are {len(calls)} calls, attempts {_brief(attempts)}", turn.id)
    booked = set(pairs.values())
    for number, attempt in enumerate(attempts):
        if attempt.state == "done" and number not in booked:
            yield Wrong("unbooked", f"a completed attempt is no call of the model's: {_brief([attempt])}", turn.id)
        if attempt.state == "interrupted" and not attempt.is_estimated:
            yield Wrong("unbooked", "an interrupted attempt is not marked as estimated", turn.id)
        if attempt.state == "open" and turn.status in FINAL:
            yield Wrong("unbooked", "an attempt is still open", turn.id)


def _paired(calls: Sequence[Served], attempts: Sequence[Attempt]) -> dict[int, int]:
    """The largest assignment of calls to attempts that they can be; calls without one are missing from it."""
    by_attempt: dict[int, int] = {}

    def place(call: int, among: list[int], tried: set[int]) -> bool:
        for attempt in among:
            if attempt in tried or not _fits(calls[call], attempts[attempt]):
                continue
            tried.add(attempt)
            if attempt not in by_attempt or place(by_attempt[attempt], among, tried):
                by_attempt[attempt] = call
                return True
        return False

    # Completed attempts first: they need a call of their own, any other may be a row without one.
    everything = list(range(len(attempts)))
    for among in ([number for number in everything if attempts[number].state == "done"], everything):
        for call in range(len(calls)):
            if call not in by_attempt.values():
                place(call, among, set())
    return {call: attempt for attempt, call in by_attempt.items()}


def _fits(call: Served, attempt: Attempt) -> bool:
    if attempt.started_at > call.at + _CLOCK:
        return False  # the row comes before the call
    if attempt.state != "done":
        return True
    same = (attempt.input_tokens, attempt.output_tokens) == (call.input_tokens, call.output_tokens)
    return call.outcome == "finished" and same


def unsettled(world: World) -> Iterator[Wrong]:
    """Each turn that is over has one row in the ledger: the sum of its attempts."""
    rows = {row.turn: row for row in world.ledger}
    for turn in world.turns:
        if turn.status not in FINAL:
            continue
        attempts = [attempt for attempt in world.attempts if attempt.turn == turn.id]
        row = rows.get(turn.id)
        if row is None:
            yield Wrong("unsettled", "no row in the ledger", turn.id)
        elif (row.attempts, row.output_tokens or 0) != (len(attempts), sum(a.output_tokens or 0 for a in attempts)):
            yield Wrong("unsettled", f"the ledger says {row}, the attempts are {_brief(attempts)}", turn.id)


def _brief(attempts: Sequence[Attempt]) -> str:
    return ", ".join(f"{a.epoch}:{a.state} {a.input_tokens} + {a.output_tokens}" for a in attempts)
