"""The `retinue` command, run as a person or a script would."""

import os
import subprocess
import sys
from collections.abc import Mapping

from tests.kit.stack import QUIET


def retinue(*arguments: str, env: Mapping[str, str] | None = None, timeout: float = 90) -> subprocess.CompletedProcess:
    """Run a verb to its end."""
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        env=os.environ | QUIET | dict(env or {}),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
