"""A turn-runner with one more tool, whose output is as large as it is asked to be."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from tests.kit.runner import runner_on
from tests.kit.stack import Servers
from turn_runner.tools import PROFILES, TOOLS, Tool, ToolContext
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


async def pour(wanted: Wanted, _: ToolContext) -> Any:
    return poured(wanted.bytes, as_json=wanted.as_json)


def pouring_runner(servers: Servers, env: Mapping[str, str]) -> AbstractContextManager[subprocess.Popen[bytes]]:
    return runner_on(servers, env, module="tests.kit.pouring_runner")


def main() -> None:
    from chassis.service import run
    from turn_runner.main import compose
    from turn_runner.settings import RunnerSettings

    TOOLS["pour"] = Tool(
        name="pour", title="Pour", summary="Pours.", description="Pours.", input=Wanted, run=pour, is_idempotent=False
    )
    PROFILES["web"] = (*PROFILES["web"], "pour")
    PROFILES["api"] = (*PROFILES["api"], "pour")
    run(RunnerSettings, compose)


if __name__ == "__main__":
    main()
