"""Hearing events: each is worked on once, tried again when it fails, and parked when it keeps failing.

A service's `handlers.py` says which event goes to which handler:

    Consumer(store, spec, TurnCompleted, in_one_transaction(store, spec, remember), back_off).hear(broker)

The message is acknowledged after the work. A database that is away is a pause, not a failure of the event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import ValidationError

from bus import delivery as deliveries
from bus.delivery import Broker, Delivery
from chassis import logs, metrics, tracing
from chassis.errors import Refused, Retryable
from chassis.parking import NeverAnswered, held, park, reason_of
from contracts.event import Event
from contracts.subjects import ConsumerSpec
from store import Session, Store, StoreAway, inbox
from store.system import dead

log = logs.get(__name__)

E = TypeVar("E", bound=Event)
T = TypeVar("T")
Work = Callable[[E], Awaitable[object]]
Handler = Callable[[Session, E], Awaitable[object]]

_AWAY_PAUSE = 1.0
"""Seconds between two tries while Postgres is away."""

_HANDLED = metrics.counter("retinue_events_handled_total", "deliveries by how they ended", ("consumer", "outcome"))


@dataclass(frozen=True)
class BackOff:
    """Seconds before a failed event is delivered again."""

    first: float = 1.0
    longest: float = 300.0

    def after(self, delivery: int) -> float:
        return min(self.longest, self.first * 2.0 ** min(delivery - 1, 30))


def in_one_transaction(store: Store, spec: ConsumerSpec, handler: Handler[E]) -> Work[E]:
    """The handler's effect and the inbox row commit together, as the event's user; what is done is not done again."""

    async def work(event: E) -> None:
        async with store.session(event.user_id) as session:
            if await inbox.record(session, spec.name, event.id):
                await handler(session, event)

    return work


class Consumer(Generic[E]):
    """One declared consumer in this process.

    `work` is for effects that are idempotent by a key of their own; others go through `in_one_transaction`.
    """

    def __init__(
        self, store: Store, spec: ConsumerSpec, event: type[E], work: Work[E], back_off: BackOff | None = None
    ) -> None:
        self._store = store
        self._spec = spec
        self._event = event
        self._work = work
        self._back_off = back_off or BackOff()

    def hear(self, broker: Broker) -> None:
        """Subscribe; deliveries begin when the broker starts."""
        deliveries.hear(broker, self._spec, self.receive)

    async def receive(self, delivery: Delivery) -> None:
        """Answers one delivery: done, again, or parked."""
        try:
            event = self._event.model_validate_json(delivery.body)
        except ValidationError as wrong:
            await self._park(delivery, wrong, None)
            return
        redelivered = delivery.count > 1
        with tracing.consumer_span(self._spec.filter_subject, delivery.headers, redelivered=redelivered):
            with logs.correlated(event_id=event.id, correlation_id=event.correlation_id, user_id=event.user_id):
                async with held(delivery):
                    await self._answer(delivery, event)

    async def _answer(self, delivery: Delivery, event: E) -> None:
        if delivery.is_too_often:
            await self._give_up(delivery, event, NeverAnswered(delivery.count))
            return
        try:
            await self._through_outages(lambda: self._work(event))
            if delivery.was_sent_again:
                await self._through_outages(lambda: self._settle(event))
        except Exception as wrong:  # noqa: BLE001 - whatever a handler raises, its event is kept
            await self._failed(delivery, event, wrong)
        else:
            await delivery.done()
            self._count("done")

    async def _failed(self, delivery: Delivery, event: E, wrong: Exception) -> None:
        if isinstance(wrong, Refused) or delivery.count >= self._spec.max_deliver:
            await self._give_up(delivery, event, wrong)
            return
        pause = self._back_off.after(delivery.count)
        if isinstance(wrong, Retryable):
            pause = max(pause, wrong.delay)
        log.warning(
            "event failed; it will be delivered again",
            consumer=self._spec.name,
            deliveries=delivery.count,
            pause=round(pause, 1),
            reason=f"{type(wrong).__name__}: {reason_of(wrong)}",
            exc_info=None if isinstance(wrong, Retryable) else wrong,
        )
        await delivery.again(pause)
        self._count("again")

    async def _give_up(self, delivery: Delivery, event: E, wrong: Exception) -> None:
        if self._spec.has_inbox and await self._through_outages(lambda: self._is_done(event)):
            await delivery.done()  # the work was committed and only its answers were lost
            self._count("done")
            return
        await self._park(delivery, wrong, event)

    async def _park(self, delivery: Delivery, wrong: Exception, event: E | None) -> None:
        await park(self._store, delivery, wrong, event.id if event else None)
        self._count("parked")

    async def _settle(self, event: E) -> None:
        async with self._store.system() as session:
            await dead.settle(session, self._spec.name, event.id)

    async def _is_done(self, event: E) -> bool:
        async with self._store.system() as session:
            return await inbox.is_done(session, self._spec.name, event.id)

    async def _through_outages(self, act: Callable[[], Awaitable[T]]) -> T:
        """Does it once the database answers; meanwhile the message is held, so that an outage uses up no delivery."""
        while True:
            try:
                return await act()
            except StoreAway as away:
                log.warning("event waits", consumer=self._spec.name, reason=str(away))
                await asyncio.sleep(_AWAY_PAUSE)

    def _count(self, outcome: str) -> None:
        _HANDLED.labels(consumer=self._spec.name, outcome=outcome).inc()
