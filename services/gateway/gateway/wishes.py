"""From what a client posts to a wish for the door: checked, bounded, with its idempotency key."""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import UUID

import orjson
from starlette.datastructures import Headers

from chassis import tracing
from chassis.errors import Refused
from contracts.ids import uuid7
from contracts.json_values import fault_of
from contracts.messages import DataPart, FilePart, TextPart, UIMessage
from gateway.answers import invalid
from store.turns import Busy, Wish

LONGEST_ID = 200
"""Characters of a message's or a chat's id, or of an idempotency key."""


def not_yet(what: str) -> Refused:
    return Refused(422, "not_yet", f"{what} is not supported yet.")


def only_new(trigger: str, message_id: str | None, role: str = "user") -> None:
    """The AI SDK's words for what a client wants: so far a new message only. Raises `Refused`."""
    if trigger == "regenerate-message":
        raise not_yet("Regenerating an answer")
    if trigger != "submit-message":
        raise invalid(f"trigger: {trigger[:40]!r} is not known.", field="trigger")
    if message_id is not None:
        raise not_yet("Continuing an answer" if role == "assistant" else "Editing a message")


def make_wish(
    user_id: UUID, thread_id: UUID, message: UIMessage, busy: Busy, headers: Headers, *, limit: int, channel: str
) -> Wish:
    """Raises `Refused` for a message that a user may not send; `limit` is in bytes of JSON."""
    message_id = message.id or None
    parts = _parts(message)
    metadata = message.metadata if isinstance(message.metadata, dict) else {}
    if fault := fault_of([parts, metadata]):
        raise invalid(f"message: {fault}.")
    meaning = orjson.dumps([str(thread_id), message_id, parts, metadata, busy], option=orjson.OPT_SORT_KEYS)
    if len(meaning) > limit:
        text = f"The message is larger than {limit:,} bytes."
        raise Refused(413, "too_large", text, limit=limit, unit="bytes", setting="RETINUE_MESSAGE_LIMIT")
    if message_id is not None and len(message_id) > LONGEST_ID:
        raise invalid(f"message.id: longer than {LONGEST_ID} characters.", limit=LONGEST_ID)
    return Wish(
        user_id=user_id,
        thread_id=thread_id,
        parts=parts,
        turn_id=uuid7(),
        client_message_id=message_id,
        metadata=metadata,
        busy=busy,
        channel=channel,
        idempotency_key=_key(headers, thread_id, message_id),
        request_hash=hashlib.sha256(meaning).digest(),
        traceparent=tracing.inject().get("traceparent"),
    )


def _parts(message: UIMessage) -> list[dict[str, Any]]:
    if message.role == "assistant":
        raise not_yet("Continuing an answer")
    if message.role != "user":
        raise invalid("message.role: only a user's message can be answered.")
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, FilePart):
            raise not_yet("Attaching a file")
        if not isinstance(part, TextPart | DataPart):
            raise invalid(f"message.parts: a user's message holds no {part.type}.")
        parts.append({"type": "text", "text": part.text} if isinstance(part, TextPart) else _data(part))
    if not any(part.get("text", "").strip() for part in parts):
        raise Refused(422, "empty_message", "The message is empty.")
    return parts


def _data(part: DataPart) -> dict[str, Any]:
    return part.model_dump(by_alias=True, exclude_unset=True)


def _key(headers: Headers, thread_id: UUID, message_id: str | None) -> str | None:
    """The client's own key, else one made from the message's id, which a client keeps when it sends again."""
    given = headers.get("idempotency-key", "").strip()
    if len(given) > LONGEST_ID:
        raise invalid(f"Idempotency-Key: longer than {LONGEST_ID} characters.", limit=LONGEST_ID)
    if given:
        return f"key:{given}"
    return f"msg:{thread_id}:{message_id}" if message_id else None
