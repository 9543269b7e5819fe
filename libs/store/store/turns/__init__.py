"""The life of a turn, each act one transaction: the door, promotion, claim, commit points, release, stop, the end."""

from store.turns.claim import Claim, claim
from store.turns.commits import (
    Ending,
    commit_model_call,
    end,
    finish_call,
    open_attempt,
    raise_epoch,
    settle_attempt,
    start_call,
)
from store.turns.door import Accepted, Busy, Stopped, Wish, accept, first_words, stop
from store.turns.errors import KeyReused, MessageExists, QueueFull, ThreadBusy, ThreadMissing, TurnLost
from store.turns.parts import fixed_of, is_tool, stored_parts
from store.turns.promotion import Limits
from store.turns.recovery import TakenUp, open_attempts, release, take_up
from store.turns.rows import AttemptResult, CallRow, PartRow, PromptSeen
from store.turns.state import TurnState, current, state, stop_reason

__all__ = [
    "Accepted",
    "AttemptResult",
    "Busy",
    "CallRow",
    "Claim",
    "Ending",
    "KeyReused",
    "Limits",
    "MessageExists",
    "PartRow",
    "PromptSeen",
    "QueueFull",
    "Stopped",
    "TakenUp",
    "ThreadBusy",
    "ThreadMissing",
    "TurnLost",
    "TurnState",
    "Wish",
    "accept",
    "claim",
    "commit_model_call",
    "current",
    "end",
    "finish_call",
    "first_words",
    "fixed_of",
    "is_tool",
    "open_attempt",
    "open_attempts",
    "raise_epoch",
    "release",
    "settle_attempt",
    "start_call",
    "state",
    "stop",
    "stop_reason",
    "stored_parts",
    "take_up",
]
