"""How much the bus still has for a consumer."""

# nats-py types its keyword arguments loosely.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from nats.aio.client import Client
from nats.errors import Error as NatsError

from contracts.subjects import ConsumerSpec


async def is_caught_up(client: Client, spec: ConsumerSpec) -> bool:
    """Whether everything that the bus has was delivered at least once; no, too, while the bus is away."""
    try:
        info = await client.jetstream().consumer_info(spec.stream, spec.name)
    except (NatsError, OSError):
        return False
    return not info.num_pending
