"""Parking: an event that a consumer cannot work on becomes a row that an operator reads, replays or drops.

The message is terminated only behind the row's commit. While Postgres is away it stays, and nobody has lost anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
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


@asynccontextmanager
async def held(delivery: Delivery) -> AsyncGenerator[None]:
    """Tells the broker, for as long as the block takes, that the message is still worked on."""

    async def keep_holding() -> None:
        while True:
            await asyncio.sleep(delivery.spec.ack_wait / 3)
            await delivery.hold()

    holding = asyncio.create_task(keep_holding(), name=f"hold-{delivery.spec.name}")
    try:
        yield
    finally:
        holding.cancel()
        await asyncio.wait({holding})
        if not holding.cancelled() and (wrong := holding.exception()) is not None:
            log.warning(
                "could not hold a message", consumer=delivery.spec.name, reason=f"{type(wrong).__name__}: {wrong}"
            )


async def park(store: Store, delivery: Delivery, wrong: BaseException, event_id: UUID | None = None) -> None:
    """Keeps the event with what went wrong, then ends its deliveries."""
    parked = _parked(delivery, wrong, event_id or delivery.message_id)
    async with held(delivery):
        is_new = await _kept(store, parked)
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


async def _kept(store: Store, parked: Parked) -> bool:
    """Whether it is a new row; waits for a database that is away."""
    while True:
        try:
            async with store.system() as session:
                return await dead.park(session, parked)
        except StoreAway as away:
            log.warning("parking waits", consumer=parked.consumer, event_id=parked.event_id, reason=str(away))
            await asyncio.sleep(_PAUSE)


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
