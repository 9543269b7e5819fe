"""A person's days: where each begins, also when the clocks change, and what is no such day."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from chassis.errors import Refused
from gateway.days import days_of


def hours(first: date, last: date, zone: str) -> list[float]:
    edges = days_of(first, last, zone, 400).edges
    return [(end - begin) / timedelta(hours=1) for begin, end in pairwise(edges)]


@pytest.mark.parametrize(
    ("first", "last", "zone", "expected"),
    [
        (date(2026, 3, 28), date(2026, 3, 30), "Europe/Berlin", [24, 23, 24]),
        (date(2026, 10, 24), date(2026, 10, 26), "Europe/Berlin", [24, 25, 24]),
        (date(2024, 4, 25), date(2024, 4, 26), "Africa/Cairo", [24, 23]),  # midnight itself is skipped
        (date(2026, 1, 1), date(2026, 1, 1), "Asia/Kathmandu", [24]),
    ],
)
def test_days_last_as_long_as_they_do_there(first: date, last: date, zone: str, expected: list[float]) -> None:
    assert hours(first, last, zone) == expected


def test_without_a_beginning_there_are_thirty_days_until_today() -> None:
    late = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)
    days = days_of(None, None, "Europe/Berlin", 400, now=late)
    assert (days.first, days.last, len(days.all)) == (date(2026, 11, 2), date(2026, 12, 1), 30)


@pytest.mark.parametrize("zone", ["", "America", "../etc/passwd", "/etc/passwd", "Nowhere/City", "UTC\0", "é" * 60])
def test_what_is_no_zone_is_refused(zone: str) -> None:
    with pytest.raises(Refused, match="zone"):
        days_of(None, None, zone, 400)


@pytest.mark.parametrize(
    ("first", "last", "field"),
    [
        (date(2026, 2, 1), date(2026, 1, 1), "from"),
        (date(2024, 1, 1), date(2026, 1, 1), "from"),
        (date(1, 1, 1), date(1, 1, 2), "from"),
        (None, date(9999, 12, 31), "from"),
        (None, date(1, 1, 1), "from"),
    ],
)
def test_what_is_no_range_is_refused(first: date | None, last: date | None, field: str) -> None:
    with pytest.raises(Refused) as refused:
        days_of(first, last, "Asia/Tokyo", 400)
    assert refused.value.fields["field"] == field
