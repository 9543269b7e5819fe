"""Days of a person: where each begins, in their own time zone, also when the clocks change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gateway.answers import invalid

_USUAL = 30
"""Days that are looked at if nobody says how many."""


@dataclass(frozen=True, slots=True)
class Days:
    """From the first to the last day, both included."""

    first: date
    last: date
    zone: ZoneInfo

    @property
    def all(self) -> list[date]:
        return [self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1)]

    @property
    def edges(self) -> list[datetime]:
        """Where each day begins, and where the last one ends. Where midnight is skipped, a day begins with the skip."""
        days = [*self.all, self.last + timedelta(days=1)]
        return [datetime.combine(day, time(), self.zone).astimezone(UTC) for day in days]


def days_of(first: date | None, last: date | None, zone: str, most: int, now: datetime | None = None) -> Days:
    """Raises `Refused`; `most` days at most. Without a beginning, the thirty days that end with the last."""
    try:
        there = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise invalid("zone: no such time zone; say one as in Europe/Berlin.", field="zone") from None
    last = last or (now or datetime.now(UTC)).astimezone(there).date()
    try:
        first = first or last - timedelta(days=_USUAL - 1)
        days = Days(first, last, there)
        if first > last:
            raise invalid("from: after the end.", field="from")
        if (last - first).days >= most:
            message = f"from: more than {most} days before the end."
            raise invalid(message, field="from", limit=most, setting="RETINUE_USAGE_DAYS")
        _ = days.edges[0], datetime.combine(last + timedelta(days=1), time(), there).astimezone(UTC)
    except OverflowError:
        raise invalid("from, to: days that no calendar holds.", field="from") from None
    return days
