"""Makes and checks the streams and consumers that `contracts.subjects` declares.

`retinue migrate` makes them; services only check.
"""

# nats-py types its keyword arguments loosely.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Sequence

from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import NotFoundError

from contracts.subjects import CONSUMERS, DUPLICATE_WINDOW, STREAMS, ConsumerSpec, StreamSpec, kept_subjects

FOR_EVER = -1
"""The broker delivers until somebody acknowledges; the end of an event's tries is ours to say, and to show."""


class StreamMissing(Exception):
    """A declared stream or consumer is not there: `retinue migrate` has not run."""


def _stream_config(spec: StreamSpec, consumers: Sequence[ConsumerSpec], replicas: int) -> StreamConfig:
    return StreamConfig(
        name=spec.name,
        subjects=kept_subjects(spec, consumers),
        retention=RetentionPolicy.WORK_QUEUE if spec.retention == "workqueue" else RetentionPolicy.LIMITS,
        discard=DiscardPolicy.NEW if spec.discard == "new" else DiscardPolicy.OLD,
        max_age=spec.max_age,
        max_bytes=spec.max_bytes,
        storage=StorageType.FILE,
        duplicate_window=min(DUPLICATE_WINDOW, spec.max_age or DUPLICATE_WINDOW),
        allow_direct=True,
        num_replicas=replicas,
    )


def _consumer_config(spec: ConsumerSpec) -> ConsumerConfig:
    return ConsumerConfig(
        durable_name=spec.name,
        filter_subjects=spec.filters,
        deliver_policy=DeliverPolicy.ALL,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=spec.ack_wait,
        max_ack_pending=spec.max_ack_pending,
        max_deliver=FOR_EVER,
    )


async def ensure_streams(
    client: Client, *, consumers: Sequence[ConsumerSpec] = CONSUMERS, replicas: int = 1
) -> list[str]:
    """Creates or updates every declared stream and consumer; returns the names it touched. Safe to run again."""
    js: JetStreamContext = client.jetstream()
    touched: list[str] = []
    for stream in STREAMS:
        config = _stream_config(stream, consumers, replicas)
        try:
            await js.stream_info(stream.name)
            await js.update_stream(config)
        except NotFoundError:
            await js.add_stream(config)
        touched.append(stream.name)
    for consumer in consumers:
        await js.add_consumer(consumer.stream, _consumer_config(consumer))
        touched.append(f"{consumer.stream}/{consumer.name}")
    return touched


async def check_streams(client: Client) -> None:
    """Raises `StreamMissing` naming the first declared stream that the broker does not have."""
    js = client.jetstream()
    for stream in STREAMS:
        try:
            await js.stream_info(stream.name)
        except NotFoundError as missing:
            raise StreamMissing(f"stream {stream.name} is missing; run `retinue migrate`") from missing
