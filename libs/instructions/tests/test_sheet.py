"""The sheet of all tools: readable without what runs them."""

from __future__ import annotations

import json
import subprocess
import sys

from instructions import known_tools, offered_names, sheet


def test_the_sheet_is_written_as_it_is_read() -> None:
    assert json.loads(sheet(list(known_tools().values()))) == json.loads(sheet(list(known_tools().values())))
    tool = known_tools()["calculator"]
    assert (tool.title, tool.tier, tool.where) == ("Calculator", "read", "server")
    assert "web" in tool.channels
    assert tool.schema["type"] == "object"


def test_an_agent_is_offered_what_profile_and_capabilities_share_in_the_order_of_the_profile() -> None:
    assert offered_names(("a", "b", "c"), None) == ["a", "b", "c"]
    assert offered_names(("a", "b", "c"), ("c", "a", "z")) == ["a", "c"]
    assert offered_names(("a",), ()) == []


def test_nobody_needs_the_runner_for_it() -> None:
    told = "import sys, instructions; instructions.known_tools(); print('turn_runner' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout == "False\n"
