"""FastStream's broker with our acknowledgement policy, set once.

FastStream terminates a message on an unhandled exception by default, which would lose it. Ours is manual: a handler
acknowledges after its work (for a turn, the claim is the work), and what fails is delivered again.
"""

from __future__ import annotations

from typing import Any

from faststream import AckPolicy
from faststream.nats import ConsumerConfig, JStream, NatsBroker, PullSub
from nats.js.api import DeliverPolicy

from bus.connection import Callback, client_options, quiet
from bus.streams import FOR_EVER
from contracts.subjects import CONSUMERS, ConsumerSpec

FETCH_TIMEOUT = 3.0
"""Seconds that one pull request waits at the broker; a message ends the wait at once. A broker that restarts forgets
the request, and nobody pulls until the wait is over: this is how long the first turn after it may be late."""


def make_broker(url: str, name: str, *, on_disconnect: Callback = quiet, on_reconnect: Callback = quiet) -> NatsBroker:
    def is_closed() -> bool:
        state = broker.config.broker_config.connection_state
        return bool(state) and state.connection.is_closed

    options: dict[str, Any] = client_options(
        url, name, on_disconnect=on_disconnect, on_reconnect=on_reconnect, is_closed=is_closed
    )
    broker = NatsBroker(**options, ack_policy=AckPolicy.MANUAL, logger=None)
    return broker


def consumer(name: str) -> ConsumerSpec:
    return next(spec for spec in CONSUMERS if spec.name == name)


def subscription(declared: str | ConsumerSpec) -> dict[str, Any]:
    """Arguments for `broker.subscriber` that bind it to a declared consumer: pull, one at a time, manual ack."""
    spec = consumer(declared) if isinstance(declared, str) else declared
    return {
        "subject": spec.filter_subject,
        "durable": spec.name,
        "stream": JStream(spec.stream, declare=False),
        "pull_sub": PullSub(batch_size=1, timeout=FETCH_TIMEOUT),
        "config": ConsumerConfig(
            durable_name=spec.name,
            filter_subjects=spec.filters,
            deliver_policy=DeliverPolicy.ALL,
            ack_wait=spec.ack_wait,
            max_ack_pending=spec.max_ack_pending,
            max_deliver=FOR_EVER,
        ),
        "ack_policy": AckPolicy.MANUAL,
        # FastStream's default is `_INBOX.`, which our users may not read: pulls would wait for ever, and in silence.
        "inbox_prefix": None,
    }
