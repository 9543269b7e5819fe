"""What is done to a stack, and when: drawn from a seed, so that a run can be had again.

Kills come every 3 to 8 seconds. The deck holds every process and every point twice; what is left of the time is
filled at random. Runners are put to sleep and connections are cut beside that. Every other sleep is a calm one: neither
the other runner nor Postgres is killed meanwhile, so that the sleeper loses its turns and wakes as a ghost.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from chassis.faults import POINTS

RUNNERS = ("turn-runner-1", "turn-runner-2")
GATEWAYS = ("gateway-1", "gateway-2")
SERVERS = ("nats", "postgres", "valkey")
PROCESSES = (*RUNNERS, *GATEWAYS, *SERVERS)

SHORTEST, LONGEST = 3.0, 8.0
"""Seconds between two kills."""

SLEEP = 15.0
"""Seconds that a runner sleeps: far longer than its lease."""

WARM_UP = 2.0
_SLEEP_EVERY, _CUT_EVERY = 60.0, 12.0
_CALM_BEFORE = 4.0
"""Seconds before a calm sleep in which the other runner is not killed either: it shall be there."""

Kind = Literal["kill", "point", "sleep", "cut"]
Card = tuple[Kind, str, str]
"""Kind, name and victim of a fault."""


@dataclass(frozen=True)
class Fault:
    """`name` is the process to kill or to put to sleep, the point to arm, or the share of connections to cut."""

    at: float
    """Seconds after the load began."""
    kind: Kind
    name: str
    victim: str = "self"
    """Whom a point kills: who reaches it, or a process by name."""


def draw(seed: int, seconds: float) -> list[Fault]:
    """Everything that will happen within so many seconds, in the order of time."""
    chance = random.Random(f"crash-{seed}")  # noqa: S311 - a plan, not a secret
    sleeps = list(_sleeps(chance, seconds))
    calm = [(sleep.at - _CALM_BEFORE, sleep.at + SLEEP) for sleep in sleeps[::2]]
    faults = [*_kills(chance, seconds, calm), *sleeps, *_cuts(chance, seconds)]
    return sorted(faults, key=lambda fault: fault.at)


def _kills(chance: random.Random, seconds: float, calm: Sequence[tuple[float, float]]) -> Iterator[Fault]:
    deck, put_by, at = _deck(chance), list[Card](), WARM_UP
    for gap in _gaps(chance, seconds - WARM_UP):
        is_calm = any(begin <= at <= end for begin, end in calm)
        kind, name, victim = _next(deck, put_by, is_calm)
        yield Fault(at, kind, name, victim)
        at += gap


def _next(deck: Iterator[Card], put_by: list[Card], is_calm: bool) -> Card:
    """The next card that may be played now; what had to wait comes first."""
    for number, card in enumerate(put_by):
        if not is_calm or _leaves_turns_alone(card):
            return put_by.pop(number)
    for card in deck:
        if not is_calm or _leaves_turns_alone(card):
            return card
        put_by.append(card)
    raise AssertionError("a deck has no end")


def _leaves_turns_alone(card: Card) -> bool:
    kind, name, victim = card
    return name in (*GATEWAYS, "nats", "valkey") or (kind == "point" and name == "accepted" and victim == "self")


def _gaps(chance: random.Random, seconds: float) -> list[float]:
    """Spread evenly over what is allowed, in any order: every seed has as many."""
    count = max(1, int(seconds / ((SHORTEST + LONGEST) / 2)))
    gaps = [SHORTEST + (LONGEST - SHORTEST) * (number + 0.5) / count for number in range(count)]
    chance.shuffle(gaps)
    return gaps


def _deck(chance: random.Random) -> Iterator[Card]:
    """Two rounds of everything, then anything for ever."""
    kills: list[Card] = [("kill", name, "self") for name in PROCESSES]
    points: list[Card] = [("point", name, "self") for name in POINTS]
    everything = kills + points
    for _ in range(2):
        yield from chance.sample(everything, len(everything))
    while True:
        if chance.random() < 0.5:
            yield "kill", chance.choice(PROCESSES), "self"
        else:
            yield "point", chance.choice(POINTS), chance.choice(("self", "self", "nats", "postgres"))


def _sleeps(chance: random.Random, seconds: float) -> Iterator[Fault]:
    """Each sleeper wakes while there is still load."""
    runners = chance.sample(RUNNERS, 2)
    room = _SLEEP_EVERY - SLEEP - 2 * WARM_UP
    for number in range(int(seconds / _SLEEP_EVERY)):
        at = number * _SLEEP_EVERY + WARM_UP + chance.uniform(0, room)
        yield Fault(at, "sleep", runners[number % 2])


def _cuts(chance: random.Random, seconds: float) -> Iterator[Fault]:
    for number in range(int(seconds / _CUT_EVERY)):
        yield Fault((number + chance.random()) * _CUT_EVERY, "cut", f"{chance.choice((0.25, 0.5, 1.0))}")
