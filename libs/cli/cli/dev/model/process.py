"""The scripted model as a process: start, say where, serve until told to stop."""

import asyncio
import json
import os
import signal
from pathlib import Path

import typer
import uvloop

from chassis import open_files
from cli.dev.model.script import Script, script_from
from cli.dev.model.server import ScriptedModel, serve
from cli.up.refusal import Refused


def run(*, host: str, port: int, script: Path | None, key: str, keep: int, while_stdin: bool) -> None:
    """Serve until SIGINT, SIGTERM, or, with `while_stdin`, the end of standard input."""
    loaded = _load(script) if script else Script()
    open_files.allow_many()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(ScriptedModel(loaded, key=key, keep=keep), host, port, while_stdin))


async def _serve(model: ScriptedModel, host: str, port: int, while_stdin: bool) -> None:
    try:
        runner, port = await serve(model, host, port)
    except OSError as error:
        raise Refused(f"The scripted model cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}.") from error
    # The first line on standard output is for programs that started us.
    typer.echo(f"Scripted model: http://{host}:{port}/v1")
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if while_stdin:
        loop.add_reader(0, lambda: None if os.read(0, 4096) else stop.set())
    await stop.wait()
    await runner.cleanup()


def _load(path: Path) -> Script:
    try:
        return script_from(json.loads(path.read_text()))
    except (OSError, ValueError) as error:
        raise Refused(f"The script {path} cannot be used: {error}.") from error
