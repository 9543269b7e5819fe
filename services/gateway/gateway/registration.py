"""Who may have an account: anybody, who was invited, or nobody; and who is the first."""

from __future__ import annotations

from chassis.errors import Refused
from gateway.answers import forbidden
from gateway.parts import Parts
from store import Session
from store.credentials import digest, hash_password, username_key
from store.system import accounts, invites
from store.system.accounts import Account, UsernameTaken


async def registered(parts: Parts, username: str, password: str, code: str | None) -> Account:
    """The new account. Raises `Refused`: 403 where the door is shut or the code opens nothing, 409 for a taken name."""
    await _refuse_early(parts, code)
    # Hashed before the transaction: it takes tens of milliseconds, and others wait for the lock.
    kept = await parts.passwords.run(hash_password, password)
    async with parts.store.system() as session:
        is_admin = await _admitted(session, parts, code)
        try:
            account = await accounts.create_account(
                session,
                username=username,
                username_key=username_key(username),
                password_hash=kept,
                is_admin=is_admin,
            )
        except UsernameTaken:
            raise Refused(409, "username_taken", "This user name is taken.") from None
        if code:
            await invites.note_invited(session, digest(code), account.id)
    return account


async def _refuse_early(parts: Parts, code: str | None) -> None:
    """Spares the hash where the answer is no whatever the password."""
    if code or parts.settings.registration_mode == "open":
        return
    async with parts.store.system() as session:
        if await accounts.has_accounts(session):
            raise _closed(parts)


async def _admitted(session: Session, parts: Parts, code: str | None) -> bool:
    """Whether the account becomes an admin. Raises `Refused` if it may not be made at all."""
    settings = parts.settings
    if await accounts.lock_first_account(session):
        if not settings.production:
            return True
        if not code or not await invites.take_invite(session, digest(code)):
            raise forbidden("The first account needs the set-up code that was printed at start.", "setup_code_needed")
        return True
    if code and settings.registration_mode != "closed":
        grants_admin = await invites.take_invite(session, digest(code))
        if grants_admin is not None:
            return grants_admin
        if settings.registration_mode == "invite":
            raise forbidden("This invitation is not valid, or it was used already.", "invite_invalid")
    if settings.registration_mode == "open":
        return False
    raise _closed(parts)


def _closed(parts: Parts) -> Refused:
    if parts.settings.registration_mode == "closed":
        return forbidden("This deployment takes no new accounts.", "registration_closed")
    return forbidden("Registration here is by invitation.", "invite_needed")
