"""What some windows were given, kept as a file: our client in Python and the page's reader must make the same of it.

`services/web/tests/readings.test.ts` reads the file too. Written anew by `RETINUE_WRITE_SNAPSHOTS=1 .venv/bin/pytest
tests/property/test_readings.py`; it need not be when bytes on the wire change, because old streams stay readable.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

from cli.bench.batches import BatchReader, Message
from tests.kit.snapshot import WRITE
from tests.property.clients import Window
from tests.property.clock import play_out
from tests.property.lives import ModelCall
from tests.property.plays import MOVES, Play

FILE = Path(__file__).parent / "readings.json"
KEPT = 14
LONGEST = 12_000
"""Bytes of one reading: a person may have to look at it."""


def played(seed: int) -> Play:
    dice = random.Random(seed)
    asked = [tuple(dice.random() < 0.5 for _ in range(dice.randint(0, 2))) for _ in range(dice.randint(1, 2))]
    play = Play(tuple(ModelCall(dice.randint(1, 3), dice.random() < 0.5, calls) for calls in asked))
    play_out(play.run([(dice.choice(MOVES), dice.randint(0, 7)) for _ in range(dice.randint(20, 90))]))
    return play


def reading(seed: int, play: Play, window: Window) -> dict[str, Any]:
    connections = [
        {"starts_over": each.starts_over, "data": each.data.decode()}
        for each in window.connections
        if each.data or each.starts_over
    ]
    return {"seed": seed, "connections": connections, "parts": play.life.stored()}


def worth_keeping(window: Window) -> bool:
    """Something was taken back, and the connection broke or the log could not go on."""
    connections = [each for each in window.connections if each.data or each.starts_over]
    size = sum(len(each.data) for each in connections)
    return bool(window.message.superseded or len(connections) > 2) and len(connections) > 1 and size < LONGEST


def written() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for seed in range(2000):
        play = played(seed)
        found += [reading(seed, play, window) for window in play.windows if worth_keeping(window)]
        if len(found) >= KEPT:
            break
    return found[:KEPT]


def test_our_client_makes_the_stored_message_of_every_reading() -> None:
    if os.environ.get(WRITE) == "1":
        FILE.write_text(json.dumps(written(), indent=1, ensure_ascii=False) + "\n")
    readings = json.loads(FILE.read_text())
    assert len(readings) == KEPT
    for each in readings:
        message = Message()
        for connection in each["connections"]:
            if connection["starts_over"]:
                message = Message()
            for batch in BatchReader().feed(connection["data"].encode()):
                message.apply(batch)
        assert message.shown["parts"] == each["parts"], each["seed"]
        assert message.is_ended
