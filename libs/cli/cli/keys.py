"""`retinue keys`: what a backup of the data folder does not hold, and another key."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.accounts.database import AsJson, DataDir, say, system_session, system_url
from cli.config.keys_of import vault_of
from cli.up import keys
from cli.up.folder import DataFolder, named_root
from cli.up.refusal import Refused
from store import StoreAway
from store.system import settings as rows
from vault import NotOpened, VaultError

app = typer.Typer(help="The keys that seal secrets: export them, change them.", no_args_is_help=True)


@app.command()
def export(
    to: Annotated[Path | None, typer.Argument(help="File to write (0600, a new one); without it: stdout.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Write the keys out: the half of a backup that the data folder does not hold. Keep it apart from that."""
    content = json.dumps(keys.export(DataFolder(named_root(data_dir))), indent=2) + "\n"
    if to is None:
        sys.stdout.write(content)
        return
    try:
        descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Refused(f"{to} is there already; choose another name.") from None
    except OSError as wrong:
        raise Refused(f"{to} cannot be written ({(wrong.strerror or str(wrong)).lower()}).") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(content)
    print(f"The keys are in {to}. Whoever has them and the data folder has every secret: keep the two apart.")


@app.command()
def rotate(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Seal under another key from now on, and re-wrap what is sealed; the old key stays for what could not be."""
    note = keys.note_of(DataFolder(named_root(data_dir)))
    if note is not None and note.vault == "file":
        command = [sys.executable, "-P", "-m", "vault", "rotate", note.keys]
        made = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", check=False)
        if made.returncode != 0:
            raise Refused(f"No key was added: {made.stderr.strip()}.")
    try:
        rewrapped, left = asyncio.run(_rewrap(data_dir))
    except StoreAway:
        raise Refused("The database does not answer: is the stack running (`retinue status`)?") from None
    except VaultError as wrong:
        raise Refused(f"Nothing was re-wrapped: {wrong}.") from None
    sentence = f"{rewrapped} secrets are under the current key" + (f"; {left} could not be opened." if left else ".")
    say({"rewrapped": rewrapped, "not_opened": left}, as_json, sentence)


async def _rewrap(data_dir: Path | None) -> tuple[int, int]:
    """How many are under the current key now, and how many are not because they do not open."""
    done = left = 0
    async with vault_of(data_dir) as vault, system_session(system_url(data_dir)) as session:
        for table, row, sealed in await rows.all_sealed(session):
            try:
                anew = await vault.rewrap(sealed)
            except NotOpened:
                left += 1
                continue
            if anew != sealed:
                await rows.put_sealed(session, table, row, sealed, anew)
            done += 1
    return done, left
