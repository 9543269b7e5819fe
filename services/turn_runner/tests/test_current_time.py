"""The time, in any zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.kit.tools import context
from turn_runner.tools import ToolFailed
from turn_runner.tools.current_time import CurrentTimeInput, current_time


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Kiritimati", "Asia/Kathmandu"])
async def test_the_local_time_with_its_offset_and_weekday(zone: str) -> None:
    told = await current_time(CurrentTimeInput(zone=zone), context())
    moment = datetime.fromisoformat(told["local"])
    assert abs(moment - datetime.now(UTC)) < timedelta(seconds=5)
    assert told["zone"] == zone
    assert told["weekday"] == moment.strftime("%A")
    assert moment.strftime("%z") == told["utc_offset"]


async def test_utc_where_no_zone_was_named() -> None:
    assert (await current_time(CurrentTimeInput(), context()))["utc_offset"] == "+0000"


@pytest.mark.parametrize(
    "zone",
    [
        "Mars/Olympus",
        "CET+1h",
        "",
        ".",
        "..",
        "../../../etc/passwd",
        "/etc/localtime",
        "Europe",
        "Europe/",
        "Europe/Berlin\n",
        "a\x00b",
        "x" * 64,
    ],
    ids=ascii,
)
async def test_another_zone_is_refused_in_words(zone: str) -> None:
    with pytest.raises(ToolFailed, match="no time zone"):
        await current_time(CurrentTimeInput(zone=zone), context())
