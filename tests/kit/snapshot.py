"""Files that say what the code makes today: a test compares, and a change shows as a diff that somebody reads.

`RETINUE_WRITE_SNAPSHOTS=1 .venv/bin/pytest PATH` writes them anew; the diff then belongs into the commit.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
WRITE = "RETINUE_WRITE_SNAPSHOTS"


def held_to(path: Path, made: str) -> None:
    """AssertionError with a readable diff unless the file holds just this text."""
    if os.environ.get(WRITE) == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made)
    kept = path.read_text() if path.exists() else ""
    if kept == made:
        return
    name = str(path.relative_to(ROOT))
    diff = "\n".join(difflib.unified_diff(kept.splitlines(), made.splitlines(), name, "the code", lineterm=""))
    raise AssertionError(f"{name} and the code differ:\n{diff}\nif that is meant: {WRITE}=1 .venv/bin/pytest")
