"""Why the door says no. Each is expected, and none leaves anything half done."""

from __future__ import annotations

from typing import Literal


class ThreadMissing(Exception):
    """No such thread for this user: not there, or not theirs, which look alike."""


class ThreadBusy(Exception):
    """The thread has an unfinished turn and the caller asked not to wait."""


class QueueFull(Exception):
    """As many turns wait in this thread, or for this user, as may."""

    def __init__(self, scope: Literal["thread", "user"], count: int, limit: int) -> None:
        super().__init__(f"{count} turns already wait in this {scope}'s queue")
        self.scope = scope
        self.count = count
        self.limit = limit


class KeyReused(Exception):
    """The idempotency key stands for another request."""


class MessageExists(Exception):
    """A message with this client id is in the thread already, from another request."""


class TurnLost(Exception):
    """The turn is no longer ours: another epoch writes it, or it has ended. The holder drops it without a word."""
