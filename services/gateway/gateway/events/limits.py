"""What one open page may cost, and how long its stream lasts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EventLimits:
    per_user: int = 32
    """Open event streams of one user in this process."""
    queue: int = 256
    """Hints that may wait for a socket."""
    age: float = 900.0
    """Seconds after which a stream ends; its page connects anew, and shows again who it is."""
    heartbeat: float = 15.0
    """Seconds without a byte after which a comment is sent."""
    stuck: float = 60.0
    """Seconds that one write may take."""
