"""The supervisor's end of the lifeline: it keeps a warden alive and tells it which children there are."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cli.up.program import Program


class Lifeline:
    """A warden that ends our children if we are killed; a killed warden is replaced."""

    def __init__(self, root: Path, lock: int, log: Path) -> None:
        self._root = root
        self._lock = lock
        self._log = log
        self._children: dict[int, dict[str, Any]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._watch: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._start()
        self._watch = asyncio.create_task(self._replace_when_dead(), name="lifeline")

    def born(self, pid: int, program: Program) -> None:
        message = {"verb": "born", "pid": pid, "kind": program.kind, "signal": int(program.stop_signal)}
        self._children[pid] = message
        self._tell(message)

    def gone(self, pid: int) -> None:
        self._children.pop(pid, None)
        self._tell({"verb": "gone", "pid": pid})

    async def close(self) -> None:
        """Let the warden go: all children have ended."""
        if self._watch is not None:
            self._watch.cancel()
        self._tell({"verb": "goodbye"})
        os.close(self._pipe)
        if self._process is not None:
            await asyncio.to_thread(self._process.wait)

    def _start(self) -> None:
        reader, self._pipe = os.pipe()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "cli.up.warden", str(self._root)],
                stdin=reader,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(self._lock,),
                cwd="/",
            )
        os.close(reader)
        for message in self._children.values():
            self._tell(message)

    async def _replace_when_dead(self) -> None:
        while True:
            if self._process is not None and self._process.poll() is not None:
                os.close(self._pipe)
                self._start()
            await asyncio.sleep(1)

    def _tell(self, message: dict[str, Any]) -> None:
        try:
            os.write(self._pipe, json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            # The warden has just been killed: its successor is told everything when it starts.
            return
