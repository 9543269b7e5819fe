"""Metrics: our names, no ids, Prometheus' text."""

import gc

import pytest

from bus.client import BusClient, transferred
from chassis import metrics


def test_rendered_in_text_format():
    metrics.announce("sample")
    metrics.counter("retinue_sampled_total", "samples taken", ("outcome",)).labels(outcome="kept").inc(3)
    page = metrics.render().decode()
    assert 'retinue_sampled_total{outcome="kept"} 3.0' in page
    assert 'retinue_build_info{service="sample"' in page
    assert "process_resident_memory_bytes" in page


def test_names_without_prefix_and_ids_as_labels_are_refused():
    with pytest.raises(ValueError, match="must start with retinue_"):
        metrics.gauge("queue_depth", "waiting")
    with pytest.raises(ValueError, match="ids as labels: turn_id"):
        metrics.counter("retinue_bad_total", "bad", ("turn_id",))


def test_what_the_bus_carried_is_counted() -> None:
    gc.collect()  # clients of other tests
    client, (received, sent) = BusClient(), transferred()
    client.stats["in_bytes"], client.stats["out_bytes"] = 7, 5
    said = metrics.render().decode()
    assert f'retinue_bus_bytes_total{{direction="received"}} {received + 7:.1f}' in said
    assert f'retinue_bus_bytes_total{{direction="sent"}} {sent + 5:.1f}' in said
