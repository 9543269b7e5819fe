"""`retinue user add | list | reset-password`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli.accounts.database import AsJson, DataDir, Username, account_named, asked_password, fit, run, say
from cli.up.refusal import Refused
from store import Session, credentials
from store.system import accounts
from store.system.accounts import Account

app = typer.Typer(help="Accounts of people.", no_args_is_help=True)

FromStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")]


@app.command("add")
def add_user(
    username: Username,
    admin: Annotated[bool, typer.Option("--admin", help="An administrator; the first account is one anyway.")] = False,
    password_stdin: FromStdin = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make an account with its default agent; asks for the password."""
    shown = fit(credentials.checked_username, username)
    kept = credentials.hash_password(asked_password(password_stdin))

    async def add(session: Session) -> Account:
        is_first = await accounts.lock_first_account(session)
        try:
            return await accounts.create_account(
                session,
                username=shown,
                username_key=credentials.username_key(shown),
                password_hash=kept,
                is_admin=admin or is_first,
            )
        except accounts.UsernameTaken:
            raise Refused(f"There is an account {shown!r} already.") from None

    made = run(data_dir, add)
    say(_as_data(made), as_json, f"Made {made.username}{' (administrator)' if made.is_admin else ''}: {made.id}")


@app.command("list")
def list_users(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List every account, oldest first."""
    found = run(data_dir, accounts.list_accounts)
    lines = [
        f"{each.id}  {each.created_at:%Y-%m-%d}  {'admin' if each.is_admin else '     '}  {each.username}"
        for each in found
    ]
    say([_as_data(each) for each in found], as_json, "\n".join(lines) or "Nobody has an account yet.")


@app.command("reset-password")
def reset_password(username: Username, password_stdin: FromStdin = False, data_dir: DataDir = None) -> None:
    """Give an account another password and end its sessions; its tokens go on."""
    kept = credentials.hash_password(asked_password(password_stdin))

    async def reset(session: Session) -> Account:
        account = await account_named(session, username)
        await accounts.set_password(session, account.id, kept, end_sessions=True)
        return account

    print(f"{run(data_dir, reset).username} has another password and must sign in again everywhere.")


def _as_data(account: Account) -> dict[str, Any]:
    return {
        "id": str(account.id),
        "username": account.username,
        "is_admin": account.is_admin,
        "created_at": account.created_at.isoformat(),
    }
