"""The lifeline: a small process that ends the supervisor's children when the supervisor itself was killed.

It reads one JSON line per child from a pipe whose only writer is the supervisor. The kernel closes the pipe when
the supervisor dies, however it dies; then services end first and servers after them. It shares the lock of the
data folder, so that a new stack cannot start before the old one has ended.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from cli.up.ending import Mortal, end_in_order, sweep


def main() -> None:
    root = Path(sys.argv[1])
    mortals = _listen(sys.stdin)
    if mortals is None:
        return
    end_in_order(mortals)
    sweep(root)


def _listen(lines: Iterable[str]) -> list[Mortal] | None:
    """The children that live when the pipe closes; None when the supervisor said goodbye."""
    children: dict[int, Mortal] = {}
    for line in lines:
        message: dict[str, Any] = json.loads(line)
        if message["verb"] == "goodbye":
            return None
        if message["verb"] == "gone":
            children.pop(message["pid"], None)
            continue
        try:
            process = psutil.Process(message["pid"])
        except psutil.NoSuchProcess:
            continue
        children[process.pid] = Mortal(process, message["kind"], message["signal"])
    return list(children.values())


if __name__ == "__main__":
    main()
