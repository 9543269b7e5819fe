"""`retinue up`, in the foreground and detached."""

import asyncio
import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

from cli.up import services
from cli.up.account import postgres_account
from cli.up.ending import MARK
from cli.up.folder import DataFolder, named_root, open_folder
from cli.up.refusal import Refused
from cli.up.report import Report, show_ready
from cli.up.settings import UpSettings
from cli.up.supervisor import Supervisor


def run_foreground(
    settings: UpSettings, report: Report, *, servers_only: bool = False, while_stdin: bool = False
) -> None:
    """Run the stack until it is told to stop, or until stdin closes if asked; Refused if it cannot be started."""
    os.umask(0o077)
    os.environ.pop(MARK, None)  # our children carry it, we do not
    try:
        asyncio.run(_run(settings, report, servers_only, while_stdin))
    except Refused as error:
        report.failed(str(error))
        raise
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        sentence = f"The disk of the data folder {named_root(settings.data_dir)} is full: free some space."
        report.failed(sentence)
        raise Refused(sentence) from error


async def _run(settings: UpSettings, report: Report, servers_only: bool, while_stdin: bool) -> None:
    account = postgres_account()
    folder = open_folder(named_root(settings.data_dir), account, settings.min_free_bytes)
    table = () if servers_only else services.SERVICES
    supervisor = Supervisor(folder, settings, account, report, table)
    if while_stdin:
        asyncio.get_running_loop().add_reader(0, _stop_at_end_of_stdin, supervisor)
    await supervisor.run()


def _stop_at_end_of_stdin(supervisor: Supervisor) -> None:
    if not os.read(0, 4096):
        asyncio.get_running_loop().remove_reader(0)
        supervisor.stop()


def run_detached(settings: UpSettings) -> None:
    """Start the stack in the background and wait until it is ready; Refused with its reason if it does not start."""
    root = named_root(settings.data_dir)
    folder = open_folder(root, postgres_account(), settings.min_free_bytes)
    reader, writer = os.pipe()
    with _open_log(folder) as log:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "cli.main", "up", "--notify", str(writer)],
            env=os.environ | _as_environment(settings, root),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(writer,),
            cwd="/",
        )
    os.close(writer)
    try:
        _await_news(reader, folder)
    except KeyboardInterrupt:
        raise Refused("The start goes on in the background: see `retinue status`, end it by `retinue down`.") from None


def _await_news(reader: int, folder: DataFolder) -> None:
    with os.fdopen(reader) as news:
        for line in news:
            message = json.loads(line)
            if "progress" in message:
                print(message["progress"], file=sys.stderr, flush=True)
            if "failed" in message:
                raise Refused(message["failed"])
            if "ready" in message:
                show_ready(message["ready"], message.get("warning"))
                return
    raise Refused(f"Retinue ended before it was ready: the reason is in {folder.log('supervisor')}.")


def _as_environment(settings: UpSettings, root: Path) -> dict[str, str]:
    """What the command line named, for the process that takes over."""
    named = {"RETINUE_DATA_DIR": str(root), "RETINUE_HOST": settings.host}
    if settings.port is not None:
        named["RETINUE_PORT"] = str(settings.port)
    return named


def _open_log(folder: DataFolder) -> IO[bytes]:
    return os.fdopen(os.open(folder.log("supervisor"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
