"""People who send messages of every kind, watch the answers in several windows, and sometimes stop them."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import aiohttp

from cli.bench.client import TurnClient, TurnRefused, Watch
from cli.bench.crash.world import Seen, Sent

T = TypeVar("T")

LONGEST_TURN = 240.0
"""Seconds after which an answer that has not ended is given up as stuck: with a budget of takeovers, each as slow as
it may be, and more on a busy machine.
"""

_PATIENCE = 60.0
_AWAY = frozenset({408, 425, 429, 500, 502, 503, 504})

KINDS: dict[str, str] = {
    "short": "[[tokens=30 rate=30]]",
    "long": "[[tokens=250 rate=25]]",
    "reasoning": "[[reasoning=40 tokens=60 rate=30]]",
    "fast": "[[tokens=400 rate=0]]",
    "tools": '[[tokens=15 rate=20 tool=calculator:{"expression": "6*7"}]] '
    '[[tool=current_time:{} tool=calculator:{"expression": "2**10"}]] [[tokens=60 rate=25]]',
    "marks": '[[tokens=10 rate=20 tool=leave_mark:{"name": "KEY.1", "seconds": 1.0}]] '
    '[[tool=leave_mark:{"name": "KEY.2", "seconds": 0.3} tool=leave_mark:{"name": "KEY.3"}]] [[tokens=60 rate=20]]',
    "broken": "[[reset=20 times=1 tokens=60 rate=30]]",
}
"""What a message asks the scripted model for; `broken` is a provider whose stream breaks once."""

_WEIGHTS = {"short": 3, "long": 4, "reasoning": 2, "fast": 1, "tools": 3, "marks": 4, "broken": 1}


@dataclass
class Crowd:
    """`streams` conversations side by side until `over` is set; what was sent and seen is kept."""

    clients: list[TurnClient]
    seed: int
    streams: int
    over: asyncio.Event = field(default_factory=asyncio.Event)
    sent: list[Sent] = field(default_factory=list[Sent])
    seen: list[Seen] = field(default_factory=list[Seen])
    people: dict[str, TurnClient] = field(default_factory=dict[str, TurnClient])
    """Thread -> whose it is."""
    troubles: list[str] = field(default_factory=list[str])

    async def run(self) -> None:
        """Returns when every conversation has seen its last answer through."""
        async with asyncio.TaskGroup() as group:
            for number in range(self.streams):
                group.create_task(self._converse(number))

    async def _converse(self, number: int) -> None:
        chance = random.Random(f"crowd-{self.seed}-{number}")  # noqa: S311 - a plan, not a secret
        await asyncio.sleep(chance.random())
        client, count = self.clients[number % len(self.clients)], 0
        while not self.over.is_set():
            thread = await self._tried("a new thread", client.thread)
            if thread is None:
                continue
            self.people[thread] = client
            for _ in range(chance.randint(2, 4)):
                count += 1
                await self._exchange(client, thread, f"c{number}-{count}", chance)
                if self.over.is_set():
                    return

    async def _exchange(self, client: TurnClient, thread: str, key: str, chance: random.Random) -> None:
        """One message, or two of which the second waits behind the first."""
        keys = [key, f"{key}b"] if chance.random() < 0.15 else [key]
        async with asyncio.TaskGroup() as group:
            for each in keys:
                watch, sent = await self._send(client, thread, each, chance)
                if watch is None or sent.turn is None:
                    continue
                group.create_task(self._watch(watch, sent, f"{each} sender"))
                for viewer in range(chance.choice((0, 1, 1, 2))):
                    late = chance.uniform(0, 4)
                    group.create_task(self._join(client, sent, f"{each} viewer {viewer + 1}", late))
                if chance.random() < 0.1:
                    sent.was_stopped = True
                    group.create_task(self._stop(client, sent, chance.uniform(0.2, 4)))

    async def _send(
        self, client: TurnClient, thread: str, key: str, chance: random.Random
    ) -> tuple[Watch | None, Sent]:
        (kind,) = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        sent = Sent(key, thread, kind, time.time())
        self.sent.append(sent)
        try:
            watch = await client.send(thread, f"{key}: {KINDS[kind].replace('KEY', key)}", key=key, busy="queue")
        except TurnRefused as refused:
            sent.refused = str(refused)
        except TimeoutError:
            self.troubles.append(f"{key} got no answer in {client.patience:g} s")
        else:
            sent.turn = watch.turn_id
            return watch, sent
        return None, sent

    async def _join(self, client: TurnClient, sent: Sent, who: str, late: float) -> None:
        await asyncio.sleep(late)
        await self._watch(client.watch(sent.thread, sent.turn), sent, who)

    async def _watch(self, watch: Watch, sent: Sent, who: str) -> None:
        trouble = ""
        try:
            await watch.to_end(LONGEST_TURN)
        except TimeoutError:
            trouble = f"no end within {LONGEST_TURN:g} s"
        except TurnRefused as refused:
            trouble = str(refused)
        finally:
            watch.close()
        message = watch.message
        self.seen.append(
            Seen(
                sent.turn or "",
                who,
                message.shown,
                message.is_ended,
                trouble,
                message.superseded,
                watch.connections,
            )
        )

    async def _stop(self, client: TurnClient, sent: Sent, late: float) -> None:
        await asyncio.sleep(late)
        await self._tried(f"the stop of {sent.key}", lambda: client.stop(sent.thread, sent.turn))

    async def _tried(self, what: str, act: Callable[[], Awaitable[T]]) -> T | None:
        try:
            return await patiently(act)
        except TimeoutError:
            self.troubles.append(f"{what} got no answer in {_PATIENCE:g} s")
        except TurnRefused as refused:
            self.troubles.append(f"{what} was refused: {refused}")
        return None


async def patiently(act: Callable[[], Awaitable[T]]) -> T:
    """What a client does while the server is away: again, for a minute."""
    async with asyncio.timeout(_PATIENCE):
        while True:
            try:
                return await act()
            except TurnRefused as refused:
                if refused.status not in _AWAY:
                    raise
            except (aiohttp.ClientError, OSError):
                pass
            await asyncio.sleep(0.2)
