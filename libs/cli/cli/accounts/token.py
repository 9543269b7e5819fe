"""`retinue token create | list | revoke`."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import typer

from cli.accounts.database import AsJson, DataDir, Username, account_named, run, say
from cli.up.refusal import Refused
from store import Session, credentials
from store.system import accounts

app = typer.Typer(help="API tokens of an account.", no_args_is_help=True)


@app.command("create")
def create_token(
    username: Username,
    name: Annotated[str, typer.Option(help="What it is for.")] = "command line",
    scope: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(credentials.SCOPES)}; repeat it.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it: it is shown here and never again."""
    scopes = tuple(dict.fromkeys(scope or credentials.DEFAULT_SCOPES))
    if unknown := [each for each in scopes if each not in credentials.SCOPES]:
        raise Refused(f"There is no scope {unknown[0]!r}; there are {', '.join(credentials.SCOPES)}.")
    code = credentials.random_code(credentials.TOKEN_PREFIX)

    async def create(session: Session) -> UUID:
        account = await account_named(session, username)
        if "admin" in scopes and not account.is_admin:
            raise Refused(f"{account.username} is no administrator, so no token of theirs can be one.")
        return await accounts.create_token(session, account.id, name, credentials.digest(code), scopes)

    made = run(data_dir, create)
    say({"id": str(made), "name": name, "scopes": scopes, "token": code}, as_json, code)


@app.command("list")
def list_tokens(username: Username, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the tokens of an account that are not revoked."""

    async def listed(session: Session) -> list[dict[str, Any]]:
        account = await account_named(session, username)
        return [
            {
                "id": str(each.id),
                "name": each.name,
                "scopes": list(each.scopes),
                "created_at": each.created_at.isoformat(),
                "used_at": each.used_at.isoformat() if each.used_at else None,
            }
            for each in await accounts.list_tokens(session, account.id)
        ]

    found = run(data_dir, listed)
    lines = [f"{each['id']}  {','.join(each['scopes'])}  {each['name']}" for each in found]
    say(found, as_json, "\n".join(lines) or "No tokens.")


@app.command("revoke")
def revoke_token(token_id: Annotated[UUID, typer.Argument(help="Its id.")], data_dir: DataDir = None) -> None:
    """End a token."""

    async def revoke(session: Session) -> bool:
        return await accounts.revoke_token(session, token_id)

    if not run(data_dir, revoke):
        raise Refused("There is no such token, or it was revoked before.")
    print("The token is revoked.")
