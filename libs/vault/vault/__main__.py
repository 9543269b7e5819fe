"""`python -m vault create|rotate PATH`: makes the key file where there is none, or adds a key; prints its name."""

from __future__ import annotations

import sys
from pathlib import Path

from vault.errors import KeysMissing
from vault.key_file import create, rotate

WAYS = {"create": create, "rotate": rotate}


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in WAYS:
        sys.stderr.write(f"{__doc__}\n")
        return 64
    try:
        sys.stdout.write(WAYS[arguments[0]](Path(arguments[1])) + "\n")
    except (KeysMissing, OSError) as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
