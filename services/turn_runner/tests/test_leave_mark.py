"""The countable side effect: offered under a crash test only, one line an effect."""

import json
import os
from pathlib import Path

import pytest

from chassis import faults
from tests.kit.tools import context
from turn_runner.tools import ToolFailed, leave_mark, offered
from turn_runner.tools.leave_mark import LeaveMarkInput


def names(channel: str) -> list[str]:
    return [tool.name for tool in offered(channel)]


async def test_it_is_offered_and_works_under_a_crash_test_only(tmp_path: Path) -> None:
    assert "leave_mark" not in names("web") + names("api")
    with pytest.raises(ToolFailed):
        await leave_mark.leave_mark(LeaveMarkInput(name="m"), context())
    faults.use(tmp_path)
    try:
        assert "leave_mark" in names("web")
        assert names("nowhere") == []
        await leave_mark.leave_mark(LeaveMarkInput(name="m"), context())
        await leave_mark.leave_mark(LeaveMarkInput(name="m"), context())
    finally:
        faults.use(None)
    lines = [json.loads(line) for line in (tmp_path / leave_mark.MARKS).read_text().splitlines()]
    assert [(line["name"], line["pid"]) for line in lines] == [("m", os.getpid())] * 2
