"""Promises about the chunk log: it ends once, and reading it from the start gives the stored message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from cli.bench.batches import BatchReader, Message
from cli.bench.crash.world import FINAL, Logged, Turn, World, Wrong


def counting(batches: Sequence[Logged]) -> list[Logged]:
    """What counts, in order and once each: of every epoch what no later one's cut leaves out."""
    cuts = {batch.id.epoch: batch.cut for batch in batches}
    first = {batch.id: batch for batch in reversed(batches)}
    counts = [
        batch
        for batch in first.values()
        if all(batch.id.number <= cut.number for epoch, cut in cuts.items() if epoch > batch.id.epoch)
    ]
    return sorted(counts, key=lambda batch: batch.id.number)


def replayed(batches: Sequence[Logged]) -> Message:
    message, reader = Message(), BatchReader()
    for batch in counting(batches):
        for whole in reader.feed(batch.body):
            message.apply(whole)
    return message


def broken(world: World) -> Iterator[Wrong]:
    stored = {message["id"]: message for messages in world.stored.values() for message in messages}
    for turn in world.turns:
        if turn.status in FINAL:
            for fault in _faults(turn, world.log.get(turn.id, []), stored.get(turn.message)):
                yield Wrong("broken log", fault, turn.id)


def _faults(turn: Turn, batches: Sequence[Logged], stored: dict[str, object] | None) -> Iterator[str]:
    counts = counting(batches)
    ends = [batch for batch in counts if batch.is_end]
    numbers = [batch.id.number for batch in counts]
    if len(ends) != 1:
        yield f"{len(ends)} counting end batches"
        return
    if not counts[-1].is_end:
        yield f"something counts behind the end batch {ends[0].id}: {counts[-1].id}"
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"the numbers do not run on: {_gaps(numbers)}"
    bodies: dict[object, bytes] = {}
    for batch in batches:
        if bodies.setdefault(batch.id, batch.body) != batch.body:
            yield f"two different batches are called {batch.id}"
    if stored is not None and replayed(batches).shown != stored:
        yield "reading it from the start does not give the stored message"


def _gaps(numbers: Sequence[int]) -> str:
    odd = [f"{a}→{b}" for a, b in pairwise(numbers) if b != a + 1]
    return ", ".join([*([] if numbers[:1] == [1] else [f"begins with {numbers[0]}"]), *odd])
