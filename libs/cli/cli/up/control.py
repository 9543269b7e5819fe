"""How the command line talks to the running supervisor: one JSON line there, one back, over a 0600 unix socket.

For other verbs and tools; all of these block, `await ask(data_dir, verb, ...)` is their form for event loops:
  `hold(data_dir, name, seconds)`   stops a process, lets it rest, starts it; returns when it is ready again
  `stop(data_dir, name)`            stops it and leaves it stopped (the supervisor does not restart it)
  `start(data_dir, name)`           starts it again; returns when it is ready
  `restart(data_dir, names)`        replaces processes, the new one before the old one leaves; no names: all services
  `ps(data_dir)`, `status(data_dir)`, `down(data_dir)`
All raise Refused when no stack runs there, when the name is unknown, or when the supervisor says no.
Names are those of `retinue ps`: nats, postgres, valkey, gateway-1, turn-runner-1, ...
"""

import asyncio
import json
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from cli.up.folder import DataFolder
from cli.up.lock import is_held
from cli.up.private_files import read_json
from cli.up.refusal import Refused

# A unix socket's path has at most 104 bytes on some systems.
LONGEST_PATH = 100
LINE_BYTES = 1 << 20
SUPERVISOR_END_SECONDS = 10.0

Tell = Callable[[str], None]
Answer = Callable[[dict[str, Any], Tell], Awaitable[Any]]


def ps(data_dir: str | Path) -> list[dict[str, Any]]:
    return call(data_dir, "ps")


def status(data_dir: str | Path) -> dict[str, Any]:
    return call(data_dir, "status")


def down(data_dir: str | Path) -> None:
    """Stop the stack in order; returns when all processes, the supervisor too, have ended."""
    call(data_dir, "down")
    lock = _folder_at(data_dir).lock
    deadline = time.monotonic() + SUPERVISOR_END_SECONDS
    while is_held(lock) and time.monotonic() < deadline:
        time.sleep(0.02)


def stop(data_dir: str | Path, name: str) -> None:
    call(data_dir, "stop", name=name)


def start(data_dir: str | Path, name: str) -> None:
    call(data_dir, "start", name=name)


def hold(data_dir: str | Path, name: str, seconds: float) -> None:
    call(data_dir, "hold", name=name, seconds=seconds)


def restart(data_dir: str | Path, names: Sequence[str] = (), tell: Tell | None = None) -> list[dict[str, Any]]:
    """One row for each process that was restarted: name, was (its old pid), pid, seconds."""
    return call(data_dir, "restart", tell, names=list(names))


async def ask(data_dir: str | Path, verb: str, **arguments: Any) -> Any:
    """`call` for event loops: they go on while a process is held."""
    return await asyncio.to_thread(call, data_dir, verb, **arguments)


def call(data_dir: str | Path, verb: str, tell: Tell | None = None, **arguments: Any) -> Any:
    """The supervisor's answer to one verb; Refused if there is no supervisor or it refuses.

    `tell` gets a sentence for each step of those that take long.
    """
    folder = _folder_at(data_dir)
    state = _read_state(folder)
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(state["socket"])
        except OSError as error:
            raise Refused(_not_running(folder)) from error
        connection.sendall(json.dumps({"verb": verb, **arguments}).encode() + b"\n")
        with connection.makefile("rb") as answers:
            for line in answers:
                answer = json.loads(line)
                if "refused" in answer:
                    raise Refused(answer["refused"])
                if "result" in answer:
                    return answer["result"]
                if tell is not None:
                    tell(answer["progress"])
    raise Refused(f"The supervisor on {folder.root} ended before it answered.")


class ControlDoor:
    """The supervisor's side: a socket that only its own user can open."""

    def __init__(self, folder: DataFolder, answer: Answer) -> None:
        self._answer = answer
        self._private_folder: Path | None = None
        self.path = folder.root / "control.sock"
        if len(os.fsencode(self.path)) > LONGEST_PATH:
            self._private_folder = Path(tempfile.mkdtemp(prefix="retinue-"))
            self.path = self._private_folder / "control.sock"
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self.path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._serve, self.path, limit=LINE_BYTES)
        finally:
            os.umask(before)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.path.unlink(missing_ok=True)
        if self._private_folder is not None:
            shutil.rmtree(self._private_folder, ignore_errors=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
            if line:
                reply = await self._reply(json.loads(line), lambda sentence: _write(writer, {"progress": sentence}))
                _write(writer, reply)
                await writer.drain()
        except ConnectionError:
            return  # the command was interrupted; what it asked for goes on
        finally:
            writer.close()

    async def _reply(self, request: dict[str, Any], tell: Tell) -> dict[str, Any]:
        try:
            return {"result": await self._answer(request, tell)}
        except Refused as error:
            return {"refused": str(error)}


def _write(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    writer.write(json.dumps(message).encode() + b"\n")


def _folder_at(data_dir: str | Path) -> DataFolder:
    return DataFolder(Path(data_dir).absolute())


def _read_state(folder: DataFolder) -> dict[str, Any]:
    try:
        state = read_json(folder.state)
    except PermissionError as error:
        raise Refused(f"The data folder {folder.root} belongs to another user: run this as that user.") from error
    if state is None:
        raise Refused(_not_running(folder))
    return state


def _not_running(folder: DataFolder) -> str:
    return f"Retinue is not running on {folder.root}: start it with `retinue up`, or set RETINUE_DATA_DIR."
