"""The one-time set-up code: what the first account of a deployment that strangers can reach is made with."""

from __future__ import annotations

from datetime import timedelta

from cli.accounts.database import system_session
from store.credentials import digest, random_code
from store.system import invites

LIFETIME = timedelta(days=7)


async def new_setup_code(system_url: str) -> str | None:
    """A fresh code in place of any earlier one, to be printed once; none when somebody has an account already.

    `system_url` is the address for the login `gateway_system`. Raises `StoreAway`.
    """
    code = random_code()
    async with system_session(system_url) as session:
        is_needed = await invites.replace_setup_code(session, digest(code), LIFETIME)
    return code if is_needed else None
