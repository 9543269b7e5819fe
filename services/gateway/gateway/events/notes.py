"""What a listener is sent: server-sent events of a few kinds, made of hints and facts."""

from __future__ import annotations

import orjson

from contracts.hints import Hint
from contracts.turns import TurnCompleted

SYNC = b"event: sync\ndata: {}\n\n"
"""Look at everything again: something may have been said that this connection did not hear."""

HEADERS = {"content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no"}


def of_hint(hint: Hint) -> bytes:
    about = {"thread_id": hint.thread_id, "turn_id": hint.turn_id, "status": hint.status}
    return _event(hint.kind, {name: value for name, value in about.items() if value is not None})


def of_end(fact: TurnCompleted) -> bytes:
    return of_hint(Hint.of_turn(fact.user_id, fact.thread_id, fact.turn_id, fact.status))


def _event(kind: str, about: dict[str, object]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps(about))
