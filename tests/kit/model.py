"""The scripted model server for tests: started as its own process, steered and questioned over HTTP.

    with ScriptedModel.started() as model:
        environment["OPENAI_BASE_URL"] = model.url            # RETINUE_MODEL=openai/scripted
        model.script({"rules": [{"user": "weather", "replies": [{"text": "Rain."}]}]})
        ...
        served = await model.wait(ended=1, user="weather")    # waits for the event, not for seconds

Messages may also carry their own script: `[[tokens=200 rate=20]]`. All of it: docs/extend/scripted-model.md.
"""

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # loopback never goes through a proxy


class ScriptedModel:
    """A running server. `url` ends with /v1 and is what OPENAI_BASE_URL takes; `root` is what the others want."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process = process
        self.url = url
        self.root = url.removesuffix("/v1")

    @classmethod
    @contextmanager
    def started(cls, *options: str) -> Iterator["ScriptedModel"]:
        """Start on a free port with further options of `retinue dev model`; it ends with the block, or with us."""
        command = [sys.executable, "-m", "cli.dev", "model", "--port", "0", "--while-stdin", *options]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"the scripted model did not start: exit code {process.wait(10)}")
            try:
                yield cls(process, line.split()[-1])
            finally:
                process.stdin.close()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()

    def script(self, script: dict[str, Any]) -> None:
        """Replace the script: `{rules: [{model?, user?, replies: [reply, ...]}], models?, strict?, pulls?}`."""
        self._ask("PUT", "/script", script)

    def served(self, *, user: str = "", model: str = "") -> list[dict[str, Any]]:
        """The requests so far, oldest first, whose user message and model name contain these words."""
        return self._served({"user": user, "model": model})["served"]

    async def wait(
        self, *, started: int = 0, ended: int = 0, user: str = "", model: str = "", seconds: float = 10
    ) -> list[dict[str, Any]]:
        """The same, once so many of them have begun and so many have ended; `AssertionError` if that takes longer."""
        query = {"user": user, "model": model, "started": started, "ended": ended, "wait": seconds}
        answer = await asyncio.to_thread(self._served, query, seconds + 5)
        found = [(record["outcome"], record["user"][:60]) for record in answer["served"]]
        assert answer["complete"], f"no {started} started and {ended} ended requests in {seconds} s, but {found}"
        return answer["served"]

    def forget(self) -> None:
        """Forget the requests so far."""
        self._ask("DELETE", "/served")

    def unscript(self) -> None:
        """Back to no script."""
        self._ask("DELETE", "/script")

    def _served(self, query: dict[str, Any], timeout: float = 10) -> dict[str, Any]:
        return json.loads(self._ask("GET", f"/served?{urllib.parse.urlencode(query)}", timeout=timeout))

    def _ask(self, method: str, path: str, body: Any = None, timeout: float = 10) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data, method=method)
        try:
            with OPENER.open(request, timeout=timeout) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from error
