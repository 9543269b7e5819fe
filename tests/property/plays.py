"""What happens to a turn and its readers, move by move, and the end that all of it must come to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from contracts.turns import TurnStatus
from gateway.streams.limits import StreamLimits
from tests.property.clients import LOOK, Servers, Window
from tests.property.clock import calm
from tests.property.lives import Life, Script

Move = tuple[str, int]

WRITING = ("go on", "go on", "go on", "arrive", "arrive", "claim")
TROUBLE = ("crash", "pause", "zombie", "break", "stop", "close", "lost claim", "evict", "relay", "late")
ARRIVING = ("hear", "hear", "hear", "hear early", "lose", "repeat", "wait")
READING = ("cut", "join", "stall", "flow", "away", "back")
MOVES = (*WRITING, *TROUBLE, *ARRIVING, *READING)

PATIENCE = 200.0
"""Seconds after the last trouble in which everybody must have come to the end."""


@dataclass
class Play:
    """A stage. `windows` are all readers that ever joined; `Script` is what the model says when it is let."""

    script: Script
    limits: StreamLimits = field(default_factory=StreamLimits)

    def __post_init__(self) -> None:
        self.life = Life(self.script)
        self.servers = Servers(self.life)
        self.windows: list[Window] = []
        self._following: list[asyncio.Task[None]] = []

    async def run(self, moves: Sequence[Move]) -> None:
        """The moves, watched from the beginning, and their end."""
        await self.staged(lambda: self._moved(moves))

    async def staged(self, story: Callable[[], Awaitable[None]]) -> None:
        """A story, while the clock of the streams runs, and its end."""
        clock = asyncio.create_task(self._clock())
        try:
            await story()
            await self.come_to_rest()
        finally:
            clock.cancel()
            for task in self._following:
                task.cancel()
            await asyncio.wait([clock, *self._following])

    def join(self, *, sees_beginning: bool = False) -> Window:
        window = Window(self.servers, self.limits, sees_beginning=sees_beginning)
        self.windows.append(window)
        self._following.append(asyncio.create_task(window.follow()))
        return window

    async def come_to_rest(self) -> None:
        """No more trouble: the turn is ended, everything that was published arrives, and everybody gets to the end.

        So do one who comes then, and one who comes when the log is gone.
        """
        self.servers.is_store_away = self.servers.is_log_away = False
        for window in self.windows:
            window.stall(False)
        self._end_turn()
        for zombie in self.life.zombies:
            while zombie.wire:
                self.life.publish(zombie.wire.pop(0))
        while self.life.outbox:
            self.life.relay()
        for window in self.windows:
            while window.inbox:
                window.hear()
        await self.until_over(*self.windows)
        await self.until_over(self.join())
        self.life.log.clear()
        await self.until_over(self.join())

    async def until_shown(self, window: Window) -> None:
        """Until the window shows what is committed now."""
        wanted, deadline = self.life.stored(), asyncio.get_running_loop().time() + PATIENCE
        while window.message.shown["parts"] != wanted:
            await asyncio.sleep(LOOK)
            self._raise_failures()
            assert asyncio.get_running_loop().time() < deadline, "a fresh reader is not shown what is committed"

    async def until_over(self, *windows: Window) -> None:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not all(window.is_over for window in windows):
            await asyncio.sleep(1.0)
            self._raise_failures()
            assert asyncio.get_running_loop().time() < deadline, "a reader is stuck though row and log are there"

    async def _moved(self, moves: Sequence[Move]) -> None:
        self.join(sees_beginning=True)
        await calm()
        for name, number in moves:
            self._move(name, number)
            await calm()
            await asyncio.sleep((0.0, 0.4 * LOOK, 1.5 * LOOK)[number % 3])
            self._raise_failures()

    def _end_turn(self) -> None:
        for _ in range(400):
            if self.life.is_final:
                return
            if self.life.holder is None:
                self.life.claim()
            elif self.life.holder.is_mine:
                self.life.holder.go_on()
            else:
                self.life.take_away(lives_on=False)
        raise AssertionError("the turn does not end")

    def _move(self, name: str, number: int) -> None:
        life, holder = self.life, self.life.holder
        window = self.windows[number % len(self.windows)]
        match name:
            case "go on" if holder is not None:
                holder.go_on()
            case "claim":
                life.claim()
            case "arrive" if holder is not None and holder.wire:
                self._publish(holder.wire, number)
            case "late" if life.zombies and (wire := life.zombies[number % len(life.zombies)].wire):
                self._publish(wire, number)
            case "zombie" if life.zombies:
                life.zombies[number % len(life.zombies)].go_on()
            case "crash" | "pause":
                life.take_away(lives_on=name == "pause")
            case "break" if holder is not None:
                holder.will_break = True
            case "stop" if holder is not None and number > 4:
                holder.is_stopping = True
            case "close" if number > 5:  # seldom: it ends the story
                life.close(TurnStatus.STOPPED if number % 2 else TurnStatus.FAILED)
            case "lost claim":
                life.claim()
                life.take_away(lives_on=False)
            case "evict":
                life.evict()
            case "relay":
                life.relay()
            case "join" if len(self.windows) < 3:
                self.join()
            case "away":
                self.servers.is_store_away, self.servers.is_log_away = number % 2 == 0, number % 3 == 0
            case "back":
                self.servers.is_store_away = self.servers.is_log_away = False
            case _:
                self._move_reader(window, name, number)

    def _move_reader(self, window: Window, name: str, number: int) -> None:
        match name:
            case "hear":
                window.hear()
            case "hear early":
                window.hear(number)
            case "lose":
                window.lose(number)
            case "repeat":
                window.repeat(number)
            case "cut":
                window.cut_after(number * 40)
            case "stall" | "flow":
                window.stall(name == "stall")
            case _:
                pass  # a moment passes

    def _publish(self, wire: list[bytes], number: int) -> None:
        """The oldest batch under way: arrives, is only heard, only stored, or stored without being acknowledged."""
        match number % 5:
            case 0 | 1:
                self.life.publish(wire.pop(0))
            case 2:
                self.life.publish(wire[0], stored=False)
            case 3:
                self.life.publish(wire.pop(0), live=False)
            case _:
                self.life.publish(wire[0])

    def _raise_failures(self) -> None:
        for task in self._following:
            if task.done():
                task.result()

    async def _clock(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(0.5)
            for window in self.windows:
                window.tick(loop.time())
