"""Promises about answers: none lost, none doubled, none stuck, and everybody has the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from cli.bench.crash.world import FINAL, Sent, Served, Turn, World, Wrong

BUDGET = 5
"""Takeovers after which a turn may fail (RETINUE_RECOVERY_BUDGET)."""


def lost(world: World) -> Iterator[Wrong]:
    """Everything that got a 2xx is answered; what failed had more takeovers than its budget, each by a fault."""
    for sent in world.sent:
        turns = world.named(sent.key)
        if not turns:
            if sent.turn is not None:
                yield Wrong("lost", f"accepted as {sent.key}, and there is no such turn", sent.turn)
            elif not sent.refused:
                yield Wrong("lost", f"{sent.key} was neither accepted nor refused")
            continue
        for turn in turns:
            if turn.status in FINAL and (fault := _unjust_end(world, sent, turn)):
                yield Wrong("lost", fault, turn.id)


def _unjust_end(world: World, sent: Sent, turn: Turn) -> str:
    if turn.status == "stopped" and not sent.was_stopped:
        return f"stopped by {turn.ended_by}, and nobody asked for it"
    if turn.status != "failed":
        return ""
    hits = sum(struck.name not in ("clients", "valkey") for struck in world.around(turn))
    if turn.ended_by != "interrupted":
        return f"failed by {turn.ended_by}"
    if turn.recoveries < BUDGET:
        return f"failed as interrupted after {turn.recoveries} takeovers; the budget is {BUDGET}"
    return "" if hits > BUDGET else f"failed as interrupted, with {hits} faults in its life"


def doubled(world: World) -> Iterator[Wrong]:
    """One turn a key, one answer a message, and no side effect twice."""
    for key, count in Counter(turn.key for turn in world.turns).items():
        if count > 1:
            yield Wrong("doubled", f"{count} turns for the key {key}")
    for thread, messages in world.stored.items():
        asked = len({turn.id for turn in world.turns if turn.thread == thread})
        roles = Counter(message["role"] for message in messages)
        if roles["user"] != asked or roles["assistant"] != asked:
            yield Wrong("doubled", f"thread {thread}: {asked} turns, {dict(roles)} messages")
    for name, count in Counter(mark.name for mark in world.marks).items():
        if count > 1:
            turns = world.named(name.rpartition(".")[0])
            yield Wrong("doubled", f"the side effect {name} happened {count} times", turns[0].id if turns else None)


def stuck(world: World) -> Iterator[Wrong]:
    """Nothing waits, is queued or runs when all is quiet."""
    for turn in world.turns:
        if turn.status not in FINAL:
            yield Wrong("stuck", f"still {turn.status}", turn.id)
    if world.unsent:
        yield Wrong("stuck", f"{world.unsent} rows of the outbox were not relayed")


def unequal(world: World) -> Iterator[Wrong]:
    """What each viewer has is what is stored."""
    stored = {message["id"]: message for messages in world.stored.values() for message in messages}
    for seen in world.seen:
        turn = world.turn(seen.turn)
        if seen.trouble or not seen.is_ended:
            yield Wrong(
                "unequal", f"{seen.who} saw no end: {seen.trouble or 'the stream was over before it'}", seen.turn
            )
        elif turn is None or seen.message != stored.get(turn.message):
            kept = stored.get(turn.message) if turn else None
            yield Wrong("unequal", f"{seen.who} has {_brief(seen.message)}, stored is {_brief(kept)}", seen.turn)


def garbled(world: World) -> Iterator[Wrong]:
    """Each text of an answer is what the model said in one call: whole if the turn finished, else a beginning of it."""
    stored = {message["id"]: message for messages in world.stored.values() for message in messages}
    said: dict[str, list[Served]] = defaultdict(list)
    for call in world.served:
        said[call.key].append(call)
    for turn in world.turns:
        calls = said[turn.key or ""]
        parts = stored.get(turn.message, {}).get("parts", [])
        texts = [part["text"] for part in parts if part["type"] == "text"]
        if turn.status == "finished":
            if not texts:
                yield Wrong("garbled", "finished without a word", turn.id)
            whole = {call.text for call in calls if call.outcome == "finished"}
            odd = [text for text in texts if text not in whole]
        else:
            odd = [text for text in texts if not any(call.text.startswith(text) for call in calls)]
        for text in odd:
            yield Wrong("garbled", f"the model never said {text[:60]!r}… ({len(text)} characters)", turn.id)


def _brief(message: dict[str, object] | None) -> str:
    """Where two messages differ is seldom at their beginnings: kinds, sizes and metadata tell more."""
    if message is None:
        return "nothing"
    parts = message.get("parts")
    shown = [f"{part['type']}:{len(str(part))}" for part in parts] if isinstance(parts, list) else []  # type: ignore[index]
    return f"{' '.join(shown)} {message.get('metadata')}"
