"""How we connect, and the acknowledgement policy that is set once."""

from __future__ import annotations

import logging

import nats.errors
import pytest
from faststream import AckPolicy

from bus.broker import FETCH_TIMEOUT, consumer, make_broker, subscription
from bus.connection import client_options, inbox_prefix
from bus.permissions import PERMISSIONS
from bus.streams import FOR_EVER
from contracts.subjects import CONSUMERS, again_subject


@pytest.mark.parametrize(
    ("url", "prefix"),
    [
        ("nats://gateway:secret@127.0.0.1:4222", "_INBOX.gateway"),
        ("nats://turn_runner:secret@127.0.0.1:4222", "_INBOX.turn_runner"),
        ("nats://127.0.0.1:4222", "_INBOX"),
    ],
)
def test_replies_come_to_the_inbox_that_a_user_may_read(url: str, prefix: str) -> None:
    assert inbox_prefix(url) == prefix


def test_every_service_s_inbox_is_among_its_permissions() -> None:
    for user, permissions in PERMISSIONS.items():
        inbox = f"{inbox_prefix(f'nats://{user}:x@h:1')}.>"
        assert inbox in permissions["subscribe"] or permissions["subscribe"] == [">"]


def test_reconnects_never_end_and_the_password_is_in_no_option_but_the_address() -> None:
    options = client_options("nats://gateway:secret@127.0.0.1:4222", "gateway-1")
    assert options["max_reconnect_attempts"] == -1
    assert options["name"] == "gateway-1"
    assert "secret" not in str({name: value for name, value in options.items() if name != "servers"})


async def test_the_bus_says_once_that_it_is_away_and_tells_whoever_asked(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    async def away() -> None:
        heard.append("away")

    async def back() -> None:
        heard.append("back")

    options = client_options("nats://h:1", "c", on_disconnect=away, on_reconnect=back)
    with caplog.at_level(logging.INFO):
        await options["disconnected_cb"]()  # type: ignore[operator]
        for attempt in (ConnectionRefusedError(), nats.errors.NoServersError()):
            await options["error_cb"](attempt)  # type: ignore[operator]
        await options["reconnected_cb"]()  # type: ignore[operator]
    assert heard == ["away", "back"]
    assert [record.getMessage() for record in caplog.records] == ["bus away", "bus back"]


async def test_a_connection_that_we_close_is_not_away(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    async def away() -> None:
        heard.append("away")

    options = client_options("nats://h:1", "c", on_disconnect=away, is_closed=lambda: True)
    with caplog.at_level(logging.INFO):
        await options["disconnected_cb"]()  # type: ignore[operator]
    assert (heard, caplog.records) == ([], [])


async def test_a_refused_subject_is_never_silence(caplog: pytest.LogCaptureFixture) -> None:
    options = client_options("nats://h:1", "c")
    await options["error_cb"](nats.errors.Error("permissions violation for subscription to x"))  # type: ignore[operator]
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "permissions violation" in record.getMessage()


def test_nothing_is_acknowledged_but_by_a_handler() -> None:
    broker = make_broker("nats://turn_runner@h:1", "c")
    assert broker.config.broker_config.ack_policy is AckPolicy.MANUAL
    for spec in CONSUMERS:
        assert subscription(spec.name)["ack_policy"] is AckPolicy.MANUAL


@pytest.mark.parametrize("spec", CONSUMERS, ids=lambda spec: spec.name)
def test_a_subscription_binds_to_what_was_declared(spec) -> None:
    bound = subscription(spec.name)
    assert consumer(spec.name) is spec
    assert (bound["subject"], bound["durable"]) == (spec.filter_subject, spec.name)
    assert bound["pull_sub"].batch_size == 1
    assert not bound["stream"].declare, "services never make streams"
    assert bound["config"].filter_subjects == [spec.filter_subject, again_subject(spec)]
    assert bound["config"].max_deliver == FOR_EVER, "the end of an event's tries is ours to say, and to show"
    assert FETCH_TIMEOUT < 10, "how late the first turn after a restart of the broker may be"
