"""`retinue invite create | list | revoke`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from cli.accounts.database import AsJson, DataDir, run, say
from cli.up.refusal import Refused
from store import Session, credentials
from store.system import invites
from store.system.invites import InviteInfo

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
    id = invites.invite_id(credentials.digest(code))
    say({"id": id, "code": code, "grants_admin": admin, "expires_at": ends.isoformat()}, as_json, code)


@app.command("list")
def list_invites(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the codes of late: which can be used, which were used and by whom. The codes themselves are kept nowhere."""
    found = run(data_dir, invites.list_invites)
    say([_as_dict(each) for each in found], as_json, "\n".join(map(_as_line, found)) or "No invitations.")


@app.command("revoke")
def revoke_invite(
    invite: Annotated[str, typer.Argument(help="Its id, or the code itself.")], data_dir: DataDir = None
) -> None:
    """End a code that nobody has used."""
    ids = {invite.lower(), invites.invite_id(credentials.digest(invite))}

    async def revoke(session: Session) -> bool:
        return await invites.revoke_invite(session, ids)

    if not run(data_dir, revoke):
        raise Refused("There is no such invitation, or somebody used it already.")
    print("The invitation is revoked.")


def _as_dict(invite: InviteInfo) -> dict[str, Any]:
    return {
        "id": invite.id,
        "grants_admin": invite.grants_admin,
        "state": _state(invite),
        "created_at": invite.created_at.isoformat(),
        "expires_at": invite.expires_at.isoformat(),
        "used_at": invite.used_at.isoformat() if invite.used_at else None,
        "used_by": invite.used_by,
    }


def _as_line(invite: InviteInfo) -> str:
    told = f"used by {invite.used_by or 'somebody who is gone'}" if invite.used_at else _state(invite)
    kind = "admin" if invite.grants_admin else "user "
    return f"{invite.id}  {kind}  until {invite.expires_at:%Y-%m-%d %H:%M}  {told}"


def _state(invite: InviteInfo) -> str:
    return "used" if invite.used_at else "open" if invite.is_open else "expired"
