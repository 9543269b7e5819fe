"""Trace context, carried over HTTP, over the bus and through outbox rows.

A provider is always there, an exporter only if someone adds a span processor: then ids appear in logs at next to no
cost. The carrier is a plain `dict[str, str]` of headers with `traceparent` in lower case, because NATS keeps case.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import Link, Span, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

_PROPAGATOR = TraceContextTextMapPropagator()
_CARRIED = frozenset({"traceparent", "tracestate"})


def setup(service: str, instance: str, processors: Sequence[SpanProcessor] = ()) -> TracerProvider:
    """Install the provider of this process (once) and add span processors; without any, nothing is exported."""
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        resource = Resource.create({"service.name": f"retinue-{service}", "service.instance.id": instance})
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        trace.set_tracer_provider(provider)
    for processor in processors:
        provider.add_span_processor(processor)
    return provider


def inject(headers: dict[str, str] | None = None) -> dict[str, str]:
    """Write the current trace context into `headers` (a new dict by default) and return it."""
    carrier = {} if headers is None else headers
    _PROPAGATOR.inject(carrier)
    return carrier


def extract(headers: Mapping[str, str] | None) -> Context:
    """The context in these headers, whatever their case; an empty one if there is none or it is malformed."""
    carrier = {key.lower(): value for key, value in (headers or {}).items() if key.lower() in _CARRIED}
    return _PROPAGATOR.extract(carrier, Context())


@contextmanager
def server_span(method: str, route: str, headers: Mapping[str, str] | None) -> Generator[Span]:
    """A server span for one HTTP request, child of the caller's; `route` is the template, never the concrete path."""
    attributes = {"http.request.method": method, "http.route": route}
    with _span(f"{method} {route}", SpanKind.SERVER, extract(headers), (), attributes) as span:
        yield span


@contextmanager
def producer_span(template: str) -> Generator[Span]:
    """A span for publishing one message; `template` is the subject with `{…}` for ids. Call `inject` inside."""
    with _span(f"publish {template}", SpanKind.PRODUCER, None, (), _messaging("publish", "send", template)) as span:
        yield span


@contextmanager
def consumer_span(template: str, headers: Mapping[str, str] | None, *, redelivered: bool = False) -> Generator[Span]:
    """A span for handling one message: child of the sender's, or only linked to it when this is a redelivery."""
    sender = extract(headers)
    attributes = _messaging("process", "process", template)
    context, links = (Context(), _links(sender)) if redelivered else (sender, ())
    with _span(f"process {template}", SpanKind.CONSUMER, context, links, attributes) as span:
        yield span


@contextmanager
def span(name: str, kind: SpanKind = SpanKind.INTERNAL, **attributes: AttributeValue) -> Generator[Span]:
    """A span below the current one."""
    with _span(name, kind, None, (), attributes) as inner:
        yield inner


@contextmanager
def _span(
    name: str,
    kind: SpanKind,
    context: Context | None,
    links: Sequence[Link],
    attributes: Mapping[str, AttributeValue],
) -> Generator[Span]:
    tracer = trace.get_tracer("retinue")
    with tracer.start_as_current_span(name, context=context, kind=kind, links=links, attributes=attributes) as inner:
        yield inner


def _links(sender: Context) -> Sequence[Link]:
    told = trace.get_current_span(sender).get_span_context()
    return (Link(told),) if told.is_valid else ()


def _messaging(operation: str, kind: str, template: str) -> dict[str, AttributeValue]:
    return {
        "messaging.system": "nats",
        "messaging.operation.name": operation,
        "messaging.operation.type": kind,
        "messaging.destination.template": template,
    }
