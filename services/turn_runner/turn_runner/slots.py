"""The turns in this runner's hands, and how many more it may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from uuid import UUID

from chassis import logs, metrics
from store.turns import Claim
from turn_runner.held import Workshop
from turn_runner.turn import Turn

log = logs.get(__name__)

_LAST_MOMENTS = 2.0
"""Seconds before the end of the grace at which what is left is given back at once."""

_LOOK_AGAIN = 0.25
"""Seconds between looks at the grace, which a second signal shortens."""

_HELD = metrics.gauge("retinue_turns_held", "turns that this runner works on")


class Slots:
    """Runs turns side by side, at most `settings.runner_slots`."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._most = workshop.settings.runner_slots
        self._turns: dict[UUID, Turn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._claiming: set[UUID] = set()
        self.is_closed = asyncio.Event()
        """The process is going down: nothing is claimed any more."""

    def holders(self) -> Iterable[Turn]:
        return list(self._turns.values())

    def held(self) -> set[UUID]:
        """Turns that are ours, or that we are just claiming: no sweep may take them for orphans."""
        return set(self._turns) | self._claiming

    def claiming(self, turn_id: UUID) -> None:
        self._claiming.add(turn_id)

    def not_claiming(self, turn_id: UUID) -> None:
        self._claiming.discard(turn_id)

    def take(self, claim: Claim) -> None:
        """Starts a claimed turn; one that was claimed too late goes straight back."""
        turn = Turn(self._workshop, claim)
        if self.is_closed.is_set():
            turn.hand_over()
        if (stale := self._turns.get(claim.turn_id)) is not None:
            stale.lose()  # it came back to us under a higher epoch
        self._turns[claim.turn_id] = turn
        task = asyncio.create_task(self._run(turn), name=f"turn-{claim.turn_id}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        _HELD.set(len(self._turns))

    async def free(self) -> None:
        """Returns when there is a free slot, or nothing is claimed any more."""
        while len(self._turns) >= self._most and not self.is_closed.is_set():
            self._changed.clear()
            await self._changed.wait()

    def stop(self, turn_id: UUID) -> None:
        """Somebody asked this turn to stop; not ours, or over, is fine."""
        if (turn := self._turns.get(turn_id)) is not None:
            turn.ask_to_stop()

    def close(self) -> None:
        """From now on nothing is claimed, and each turn goes back to the queue at its next commit point."""
        self.is_closed.set()
        self._changed.set()
        for turn in self.holders():
            turn.hand_over()

    async def drain(self, grace_left: Callable[[], float]) -> None:
        """Hands the turns over while `grace_left()` says that there is time; then gives back what is left at once.

        What cannot be given back (the database is away) is dropped: our lease ends, and a sweep brings it back.
        """
        self.close()
        while self._tasks and (left := grace_left() - _LAST_MOMENTS) > 0:
            await asyncio.wait(self._tasks, timeout=min(left, _LOOK_AGAIN))
        for turn in self.holders():
            turn.shut_down()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=max(grace_left() - _LAST_MOMENTS / 2, _LAST_MOMENTS / 2))
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _run(self, turn: Turn) -> None:
        with logs.correlated(turn_id=str(turn.turn_id)):
            try:
                await turn.run()
            finally:
                if self._turns.get(turn.turn_id) is turn:
                    del self._turns[turn.turn_id]
                _HELD.set(len(self._turns))
                self._changed.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (wrong := task.exception()) is not None:
            log.error("a turn's task died; the sweep will bring the turn back", exc_info=wrong)
