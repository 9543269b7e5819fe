"""A turn-runner with one more tool, whose output is as large as it is asked to be."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.kit.stack import QUIET, Servers
from turn_runner.tools import PROFILES, TOOLS, Tool
from turn_runner.tools.tool import Input

LINE = "0123456789 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQR äöü €\n"


class Wanted(Input):
    bytes: int = 0
    note: str = ""
    as_json: bool = False


def poured(size: int, *, as_json: bool) -> Any:
    """About so many bytes; as JSON a list of lines."""
    lines = size // len(LINE.encode())
    return [LINE] * lines if as_json else LINE * lines


async def pour(wanted: Wanted) -> Any:
    return poured(wanted.bytes, as_json=wanted.as_json)


@contextmanager
def pouring_runner(servers: Servers, env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | QUIET | servers.env_of("turn_runner") | {"RETINUE_HEALTH_PORT": "0"}
    environment |= {"RETINUE_LOG_FORMAT": "text", "RETINUE_STOP_GRACE": "2"} | dict(env)
    command = [sys.executable, "-m", "tests.kit.pouring_runner"]
    process = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[2])
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


def main() -> None:
    from chassis.service import run
    from turn_runner.main import compose
    from turn_runner.settings import RunnerSettings

    TOOLS["pour"] = Tool(name="pour", description="Pours.", input=Wanted, run=pour, is_idempotent=False)
    PROFILES["web"] = (*PROFILES["web"], "pour")
    PROFILES["api"] = (*PROFILES["api"], "pour")
    run(RunnerSettings, compose)


if __name__ == "__main__":
    main()
