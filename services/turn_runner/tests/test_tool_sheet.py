"""The sheet that others read is the register, and nobody forgot to write it."""

from instructions import sheet
from turn_runner.tools.sheet import FILE, sheets


def test_the_sheet_is_the_register() -> None:
    command = ".venv/bin/python -m turn_runner.tools.sheet"
    assert FILE.read_text(encoding="utf-8") == sheet(sheets()), f"the tools have changed; write it anew: {command}"
