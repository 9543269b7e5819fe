"""The time, in any zone."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from turn_runner.tools.tool import Input, Tool, ToolContext, ToolFailed


class CurrentTimeInput(Input):
    zone: str = Field("UTC", max_length=64, description="IANA time zone, for example Europe/Berlin")


async def current_time(wanted: CurrentTimeInput, _: ToolContext) -> dict[str, Any]:
    try:
        zone = ZoneInfo(wanted.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as unknown:
        raise ToolFailed(f"There is no time zone {wanted.zone!r}; use an IANA name such as Europe/Berlin.") from unknown
    moment = datetime.now(zone)
    return {
        "zone": wanted.zone,
        "local": moment.isoformat(timespec="seconds"),
        "weekday": moment.strftime("%A"),
        "utc_offset": moment.strftime("%z"),
    }


TOOL = Tool(
    name="current_time",
    title="Current time",
    summary="The date and time, in any time zone.",
    description=(
        "The current date and time in a time zone. Use it whenever an answer depends on now. The result holds the "
        "local time as ISO 8601 with its offset, and the weekday. Not for converting other times between zones."
    ),
    input=CurrentTimeInput,
    run=current_time,
)
