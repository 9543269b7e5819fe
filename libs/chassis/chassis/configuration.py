"""The configuration folder: where keys lie, apart from the data that they protect."""

from __future__ import annotations

import os
from pathlib import Path


def configuration_folder() -> Path:
    """/etc/retinue as root, else `retinue` below XDG_CONFIG_HOME or ~/.config."""
    if os.geteuid() == 0:
        return Path("/etc/retinue")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "retinue"


def key_path(named: Path | None = None) -> Path:
    """The key file that is named (RETINUE_KEYS), else `keys` in the configuration folder."""
    return named.expanduser().absolute() if named is not None else configuration_folder() / "keys"
