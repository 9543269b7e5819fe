"""`retinue invite create`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import typer

from cli.accounts.database import AsJson, DataDir, run, say
from store import Session, credentials
from store.system import invites

app = typer.Typer(help="Codes to register with.", no_args_is_help=True)

LONGEST_DAYS = 365


@app.callback()
def group() -> None:
    """Codes to register with."""


@app.command("create")
def create_invite(
    admin: Annotated[bool, typer.Option("--admin", help="Whoever uses it becomes an administrator.")] = False,
    days: Annotated[float, typer.Option(help="How long it can be used.", min=0.01, max=LONGEST_DAYS)] = 7,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a code that one account can be registered with, and print it."""
    code = credentials.random_code()

    async def create(session: Session) -> datetime:
        lifetime = timedelta(days=days)
        return await invites.create_invite(session, credentials.digest(code), grants_admin=admin, lifetime=lifetime)

    ends = run(data_dir, create)
    say({"code": code, "grants_admin": admin, "expires_at": ends.isoformat()}, as_json, code)
