"""What wakes this service: `turn.requested.v1`, and a stop for a turn that it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

from faststream.nats import NatsBroker, NatsMessage
from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic import ValidationError

from bus.broker import consumer, subscription
from bus.delivery import Delivery
from chassis import faults, logs, tracing
from chassis.parking import NeverAnswered, park
from contracts.hints import Hint
from contracts.subjects import TURN_CONSUMER, TURN_REQUESTED
from contracts.turns import TurnRequested, TurnStatus
from store import StoreAway, turns
from store.turns import Claim
from turn_runner.held import Workshop
from turn_runner.slots import Slots

log = logs.get(__name__)


class _Closed(Exception):
    """This runner claims nothing any more."""


def subscribe_requests(broker: NatsBroker, workshop: Workshop, slots: Slots) -> None:
    @broker.subscriber(**subscription(TURN_CONSUMER))
    async def on_turn_requested(message: NatsMessage) -> None:
        """Claims, acknowledges, starts the turn; returns when a slot is free for the next."""
        delivery = Delivery.of(message, consumer(TURN_CONSUMER))
        try:
            request = TurnRequested.model_validate_json(message.body)
        except ValidationError as wrong:
            await park(workshop.store, delivery, wrong)
            return
        if delivery.is_too_often:
            await park(workshop.store, delivery, NeverAnswered(delivery.count), request.id)
            return
        with tracing.consumer_span(TURN_REQUESTED, message.headers, redelivered=delivery.count > 1):
            try:
                claim = await _claim(request, message, workshop, slots)
            except _Closed:
                await message.nack()  # for another runner, at once
                return
            faults.reached("claimed")
            await message.ack()  # whether or not the claim took: the message was a wake-up
            if claim is not None:
                slots.take(claim)
                running = Hint.of_turn(claim.user_id, claim.thread_id, claim.turn_id, TurnStatus.RUNNING)
                workshop.relay.hint(running)
            slots.not_claiming(request.turn_id)
        await slots.free()


async def _claim(request: TurnRequested, message: NatsMessage, workshop: Workshop, slots: Slots) -> Claim | None:
    """Claims once the lease is good; while Postgres is away the message stays ours. Raises `_Closed`."""
    while True:
        if not workshop.lease.is_good:
            await message.in_progress()
            await _unless_closed(slots, workshop.lease.good())
        if slots.is_closed.is_set():
            raise _Closed
        slots.claiming(request.turn_id)
        try:
            async with workshop.store.statement() as session:
                return await turns.claim(session, request.turn_id, workshop.lease.id, request.user_id)
        except StoreAway as away:
            # If the claim took and only its reply was lost, the sweep finds our orphan and queues it again.
            slots.not_claiming(request.turn_id)
            log.warning("claim waits", reason=str(away))
            await message.in_progress()
            await _unless_closed(slots, workshop.lease.next_beat())


async def _unless_closed(slots: Slots, wait: Coroutine[Any, Any, None]) -> None:
    """Waits, but not longer than this runner claims turns."""
    waiting, closed = asyncio.create_task(wait), asyncio.create_task(slots.is_closed.wait())
    try:
        await asyncio.wait({waiting, closed}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        closed.cancel()


async def subscribe_stops(client: Client, slots: Slots) -> None:
    async def on_stop(message: Msg) -> None:
        try:
            slots.stop(UUID(message.subject.rsplit(".", 1)[1]))
        except ValueError:
            log.warning("not a turn to stop", subject=message.subject)

    await client.subscribe("ctl.stop.*", cb=on_stop)
