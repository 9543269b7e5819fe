"""What one viewer of a stream may cost, and how long each kind of patience lasts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamLimits:
    queue_batches: int = 64
    """Batches queued for a socket before it is left to the log."""
    queue_bytes: int = 256 * 1024
    """Bytes queued for a socket before it is left to the log."""
    held_batches: int = 256
    """Early live batches held back."""
    read_ahead: int = 1024 * 1024
    """Bytes of the stored log that a viewer keeps while it catches up."""
    silence: float = 5.0
    """Seconds without a batch after which row and log are read."""
    heartbeat: float = 15.0
    """Seconds without a byte after which a comment is sent."""
    stuck: float = 60.0
    """Seconds without a byte drained after which the connection is reset."""
