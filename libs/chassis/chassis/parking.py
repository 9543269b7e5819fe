"""Parking: an event that a consumer cannot work on becomes a row that an operator reads, replays or drops.

The message is terminated only behind the row's commit. While Postgres is away it stays, and nobody has lost anything.
"""

from __future__ import annotations

import asyncio
from uuid import UUID

from pydantic import ValidationError

from bus.delivery import Delivery
from chassis import logs, metrics
from store import Store, StoreAway
from store.system import dead
from store.system.dead import Parked

log = logs.get(__name__)

LONGEST_REASON = 1000
"""Characters of an exception's words that are kept."""

_PAUSE = 1.0
"""Seconds between two tries while Postgres is away."""

_PARKED = metrics.counter("retinue_dead_letters_parked_total", "events parked as dead letters", ("consumer",))


class NeverAnswered(Exception):
    """The event was delivered as often as it may, and no process came to the end of it: it may be what kills them."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count - 1} deliveries ended without an answer")


async def park(store: Store, delivery: Delivery, wrong: BaseException, event_id: UUID | None = None) -> None:
    """Keeps the event with what went wrong, then ends its deliveries."""
    parked = _parked(delivery, wrong, event_id or delivery.message_id)
    while True:
        try:
            async with store.system() as session:
                is_new = await dead.park(session, parked)
            break
        except StoreAway as away:
            log.warning("parking waits", consumer=parked.consumer, event_id=parked.event_id, reason=str(away))
            await delivery.hold()
            await asyncio.sleep(_PAUSE)
    if is_new:
        _PARKED.labels(consumer=parked.consumer).inc()
        log.error(
            "event parked as a dead letter",
            consumer=parked.consumer,
            event_id=parked.event_id,
            deliveries=parked.deliveries,
            reason=f"{parked.reason_type}: {parked.reason}",
        )
    await delivery.never()


def reason_of(wrong: BaseException) -> str:
    """What an exception says, without the values that it would quote, and without what looks like a secret."""
    if isinstance(wrong, ValidationError):
        errors = wrong.errors(include_input=False, include_url=False, include_context=False)
        words = "; ".join(f"{'.'.join(map(str, error['loc'])) or 'message'}: {error['msg']}" for error in errors)
    else:
        # A database error quotes its statement with every parameter; the driver's own words are its cause.
        words = str(getattr(wrong, "orig", None) or wrong)
    scrubbed = str(logs.mask_secrets(None, "", {"reason": words})["reason"])
    return scrubbed[:LONGEST_REASON]


def _parked(delivery: Delivery, wrong: BaseException, event_id: UUID) -> Parked:
    return Parked(
        consumer=delivery.spec.name,
        stream=delivery.spec.stream,
        subject=delivery.subject,
        event_id=event_id,
        payload=delivery.body,
        headers=delivery.headers,
        deliveries=delivery.count,
        first_seen_at=delivery.kept_since,
        reason_type=type(wrong).__name__,
        reason=reason_of(wrong),
        was_sent_again=delivery.was_sent_again,
    )
