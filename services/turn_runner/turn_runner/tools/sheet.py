"""The register as others see it: writes `libs/instructions/instructions/tools.json`.

.venv/bin/python -m turn_runner.tools.sheet
"""

from __future__ import annotations

from pathlib import Path

import instructions
from instructions import ToolSheet, sheet
from turn_runner.tools import PROFILES, TOOLS

FILE = Path(instructions.__file__).with_name("tools.json")


def sheets() -> list[ToolSheet]:
    """Those that some channel has, in the order of the register."""
    channels = {name: tuple(channel for channel, names in PROFILES.items() if name in names) for name in TOOLS}
    return [
        ToolSheet(
            tool.name, tool.title, tool.summary, tool.description, tool.tier, tool.where, channels[name], tool.schema
        )
        for name, tool in TOOLS.items()
        if channels[name]
    ]


if __name__ == "__main__":
    FILE.write_text(sheet(sheets()), encoding="utf-8")
