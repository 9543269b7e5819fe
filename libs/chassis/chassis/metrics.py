"""The metrics of this process: one registry, names `retinue_*`, no ids as labels.

Labels are small closed sets (an outcome, a pool, a path); a user, thread, turn or message id never becomes one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from bus.client import transferred


class BusCollector(Collector):
    """What the process's own connection to the bus has carried."""

    def collect(self) -> Iterable[Metric]:
        received, sent = transferred()
        carried = CounterMetricFamily("retinue_bus_bytes", "payload bytes over the bus", labels=["direction"])
        carried.add_metric(["received"], received)
        carried.add_metric(["sent"], sent)
        yield carried


REGISTRY = CollectorRegistry()
REGISTRY.register(BusCollector())
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "retinue_"
_FORBIDDEN_LABELS = frozenset({"user", "user_id", "turn", "turn_id", "thread", "thread_id", "message", "message_id"})
_LATENCY = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


def counter(name: str, documentation: str, labels: Sequence[str] = ()) -> Counter:
    """A counter; `name` starts with `retinue_` and ends with `_total`."""
    return Counter(_checked(name, labels), documentation, labels, registry=REGISTRY)


def gauge(name: str, documentation: str, labels: Sequence[str] = ()) -> Gauge:
    """A gauge; `name` starts with `retinue_` and ends with its unit where it has one."""
    return Gauge(_checked(name, labels), documentation, labels, registry=REGISTRY)


def histogram(
    name: str, documentation: str, labels: Sequence[str] = (), buckets: Sequence[float] = _LATENCY
) -> Histogram:
    """A histogram; the default buckets are seconds, from half a millisecond to ten."""
    return Histogram(_checked(name, labels), documentation, labels, buckets=buckets, registry=REGISTRY)


def render() -> bytes:
    """The registry in Prometheus' text format."""
    return generate_latest(REGISTRY)


def announce(service: str) -> None:
    """Publish which build this process runs."""
    try:
        built = version("retinue-chassis")
    except PackageNotFoundError:
        built = "unknown"
    _BUILD.labels(service=service, version=built).set(1)


async def watch_loop(every: float = 1.0) -> None:
    """Measure how late the event loop wakes a sleeper, every `every` seconds, for ever."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + every
        await asyncio.sleep(every)
        _LAG.observe(max(0.0, loop.time() - due))


def _checked(name: str, labels: Sequence[str]) -> str:
    if not name.startswith(PREFIX):
        raise ValueError(f"metric {name} must start with {PREFIX}")
    if ids := _FORBIDDEN_LABELS.intersection(labels):
        raise ValueError(f"metric {name} has ids as labels: {', '.join(sorted(ids))}")
    return name


_BUILD = gauge("retinue_build_info", "which build runs; always 1", ("service", "version"))
_LAG = histogram("retinue_event_loop_lag_seconds", "how late the event loop wakes a sleeper")
