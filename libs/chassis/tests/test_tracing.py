"""Tracing: the context survives HTTP and the bus as plain headers."""

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from chassis import tracing


@pytest.fixture
def spans():
    exporter = InMemorySpanExporter()
    tracing.setup("sample", "sample-1", [SimpleSpanProcessor(exporter)])
    return lambda: {span.name: span for span in exporter.get_finished_spans()}


def test_request_publish_and_handling_are_one_trace(spans):
    with tracing.server_span("POST", "/api/threads/{id}/turn", {"User-Agent": "x"}):
        with tracing.producer_span("turn.requested.v1"):
            headers = tracing.inject({"Nats-Msg-Id": "m1"})
    assert headers["Nats-Msg-Id"] == "m1"
    assert all(isinstance(value, str) for value in headers.values())
    with tracing.consumer_span("turn.requested.v1", headers):
        with tracing.span("claim"):
            pass

    found = spans()
    request, publish = found["POST /api/threads/{id}/turn"], found["publish turn.requested.v1"]
    process, claim = found["process turn.requested.v1"], found["claim"]
    assert {span.context.trace_id for span in (request, publish, process, claim)} == {request.context.trace_id}
    assert publish.parent.span_id == request.context.span_id
    assert process.parent.span_id == publish.context.span_id
    assert claim.parent.span_id == process.context.span_id


def test_a_callers_trace_is_continued_whatever_the_case_of_its_header(spans):
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with tracing.server_span("GET", "/api/me", {"Traceparent": parent}):
        pass
    assert format(spans()["GET /api/me"].context.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"


def test_a_redelivery_is_linked_and_not_a_child(spans):
    with tracing.producer_span("first"):
        headers = tracing.inject()
    with tracing.consumer_span("again", headers, redelivered=True):
        pass
    first, again = spans()["publish first"], spans()["process again"]
    assert again.parent is None
    assert [link.context.span_id for link in again.links] == [first.context.span_id]


@pytest.mark.parametrize("headers", [None, {}, {"traceparent": "nonsense"}, {"traceparent": "00-0-0-00"}])
def test_no_context_begins_a_trace_of_its_own(spans, headers):
    with tracing.span("around"), tracing.consumer_span("alone", headers):
        pass
    assert spans()["process alone"].parent is None


def test_nothing_is_injected_outside_a_span():
    assert tracing.inject() == {}
