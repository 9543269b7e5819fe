"""Whose reasoning it is: what one provider has signed or sealed makes another one refuse the whole request."""

import hashlib
from collections.abc import Sequence
from typing import Any

from llm.call import Wire
from llm.requests import Assistant, Message, User


def origin(wire: Wire, model_id: str, key: str = "") -> str:
    """The opaque word for `ReasoningData.provider`: the wire, the model, and whose account, without showing the key."""
    account = hashlib.sha256(key.encode()).hexdigest()[:8] if key else "-"
    return f"{wire}:{account}:{model_id}"


def turn_begins(messages: Sequence[Message]) -> int:
    """Where the answer that is being made begins: the place of the last message of a user, -1 for none."""
    return max((at for at, message in enumerate(messages) if isinstance(message, User)), default=-1)


def own(message: Assistant, origin: str) -> list[tuple[str, dict[str, Any]]]:
    """Text and data of the reasoning that came from there, in order; foreign reasoning is left out."""
    return [(kept.text, kept.data) for kept in message.reasoning if kept.provider == origin and kept.data]
