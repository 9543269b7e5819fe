"""One transaction in the accounts of a deployment, and what every verb asks or says."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from cli.up.refusal import Refused
from store import Session, Store, StoreAway, credentials
from store.system import accounts
from store.system.accounts import Account

T = TypeVar("T")
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Data folder (RETINUE_DATA_DIR).", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for scripts.")]
Username = Annotated[str, typer.Argument(help="User name.")]


def run(data_dir: Path | None, work: Callable[[Session], Awaitable[T]]) -> T:
    async def work_once() -> T:
        async with system_session(system_url(data_dir)) as session:
            return await work(session)

    try:
        return asyncio.run(work_once())
    except StoreAway:
        raise Refused("The database does not answer: is the stack running (`retinue status`)?") from None


@asynccontextmanager
async def system_session(url: str) -> AsyncGenerator[Session]:
    """One transaction as `gateway_system`, on a connection of its own."""
    store = Store(url, url, name="retinue-cli", pool_size=1)
    try:
        async with store.system() as session:
            yield session
    finally:
        await store.dispose()


def system_url(data_dir: Path | None) -> str:
    if data_dir is None and (named := os.environ.get("RETINUE_DATABASE_SYSTEM_URL")):
        return named
    from cli.up.folder import named_root
    from cli.up.running import role_url

    return role_url(named_root(data_dir), "gateway_system")


async def account_named(session: Session, username: str) -> Account:
    found = await accounts.login_by_name(session, credentials.username_key(username))
    if found is None:
        raise Refused(f"There is no account {username!r}.")
    return found.account


def asked_password(from_stdin: bool) -> str:
    if from_stdin or not sys.stdin.isatty():
        password = sys.stdin.readline().rstrip("\r\n")
    else:
        password = getpass.getpass("Password: ")
        if getpass.getpass("Again: ") != password:
            raise Refused("The two passwords differ.")
    fit(credentials.check_password, password)
    return password


def fit(check: Callable[[str], T], given: str) -> T:
    try:
        return check(given)
    except credentials.Unfit as unfit:
        raise Refused(str(unfit)) from None


def say(data: Any, as_json: bool, sentence: str) -> None:
    print(json.dumps(data, indent=2) if as_json else sentence)
