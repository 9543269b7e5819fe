"""No event without a listener, no subject without a home, no permission without a use: read from the code."""

from __future__ import annotations

import pytest

from bus.permissions import PERMISSIONS
from contracts.event import EVENTS
from contracts.subjects import CONSUMERS, STREAMS, kept_subjects
from tests.kit.routing import SERVICES, Way, covers, subject_of, takers, ways, ways_of

FOR_OUTSIDERS: dict[str, str] = {}
"""Events that none of our services hears, each with the reason why it is said nevertheless."""


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_event_is_said_by_somebody_and_heard_by_somebody(name: str) -> None:
    assert takers(subject_of(name), "sends"), "nobody sends it"
    heard = takers(subject_of(name), "hears")
    assert bool(heard) != (name in FOR_OUTSIDERS), "heard by a service, or listed for outsiders with a reason"


def test_a_request_has_one_kind_of_taker_and_its_consumer_is_declared() -> None:
    for name, event in EVENTS.items():
        if not event.is_fact:
            assert len(takers(subject_of(name), "hears")) == 1
            assert [c.filter_subject for c in CONSUMERS].count(subject_of(name)) == 1


def test_every_subject_that_is_heard_is_said_and_the_other_way_round() -> None:
    sent = {way.subject for way in ways() if way.verb == "sends"}
    heard = {way.subject for way in ways() if way.verb == "hears"}
    outside = {subject_of(name) for name in FOR_OUTSIDERS}
    assert sent - heard == outside
    assert heard - sent == set()


def test_what_goes_through_the_outbox_or_to_the_log_is_kept_by_one_stream() -> None:
    for way in ways():
        if way.verb == "sends":
            homes = [
                stream.name for stream in STREAMS for subject in kept_subjects(stream) if covers(subject, way.subject)
            ]
            assert len(homes) == (0 if way.via == "core" else 1), way


def test_streams_do_not_overlap_and_each_keeps_something() -> None:
    patterns = [subject for stream in STREAMS for subject in kept_subjects(stream)]
    sent = [way.subject for way in ways() if way.verb == "sends"]
    for pattern in patterns:
        assert any(covers(pattern, subject) for subject in sent), f"nobody writes {pattern}"
        assert not any(covers(pattern, other) for other in patterns if other != pattern)


def test_consumers_filter_what_their_stream_keeps() -> None:
    streams = {stream.name: stream for stream in STREAMS}
    for consumer in CONSUMERS:
        for heard in consumer.filters:
            assert any(covers(subject, heard) for subject in kept_subjects(streams[consumer.stream]))
        assert 0 < consumer.max_deliver < 100, "bounded: what exceeds it is looked at by people"


def published(service: str) -> list[Way]:
    return [way for way in ways_of(service) if way.verb in ("sends", "asks")]


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_may_say_and_hear_what_its_code_does(service: str) -> None:
    allowed = PERMISSIONS[service]
    for way in published(service):
        assert any(covers(pattern, way.subject) for pattern in allowed["publish"]), f"{way} is refused by the broker"
    for way in ways_of(service):
        if way.verb == "hears" and way.via == "core":
            assert any(covers(pattern, way.subject) for pattern in allowed["subscribe"]), f"{way} would hear nothing"


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_may_do_no_more_than_its_code_does(service: str) -> None:
    allowed = PERMISSIONS[service]
    said = [way.subject for way in published(service)]
    heard = [way.subject for way in ways_of(service) if way.verb == "hears"]
    idle = [pattern for pattern in allowed["publish"] if not any(covers(pattern, subject) for subject in said)]
    assert idle == [], "permissions to publish that no code uses"
    own_inbox = f"_INBOX.{service}.>"
    deaf = [p for p in allowed["subscribe"] if p != own_inbox and not any(covers(p, subject) for subject in heard)]
    assert deaf == [], "permissions to subscribe that no code uses"


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_reads_its_own_inbox_and_nobody_else_s(service: str) -> None:
    inboxes = [p for p in PERMISSIONS[service]["subscribe"] if p.startswith("_INBOX")]
    assert inboxes == [f"_INBOX.{service}.>"]


def test_only_the_administrator_may_change_streams() -> None:
    for service in SERVICES:
        for pattern in PERMISSIONS[service]["publish"]:
            for change in ("STREAM.CREATE.X", "STREAM.UPDATE.LOG", "STREAM.DELETE.LOG", "STREAM.PURGE.LOG"):
                assert not covers(pattern, f"$JS.API.{change}")
            for durable in ("CONSUMER.DURABLE.CREATE.TURN.x", "CONSUMER.CREATE.TURN.x", "CONSUMER.DELETE.TURN.x"):
                assert not covers(pattern, f"$JS.API.{durable}")


@pytest.mark.parametrize(
    ("pattern", "subject", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("a.>", "a.b.c", True),
        ("a.>", "a", False),
        ("a.b", "a.*", False),
        ("a.*", "a.*", True),
        ("a.*", "a.>", False),
        ("a.>", "a.>", True),
        ("log.*", "fact.*", False),
    ],
)
def test_covers(pattern: str, subject: str, expected: bool) -> None:
    assert covers(pattern, subject) is expected
