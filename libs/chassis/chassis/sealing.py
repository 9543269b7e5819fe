"""The vault of a process, as its settings say; and which errors of it an edge tells."""

from __future__ import annotations

from chassis.configuration import key_path
from chassis.errors import Busy, Refused
from chassis.pools import Pool
from chassis.settings import ServiceSettings
from vault import KeyFile, KeysAway, KeysMissing, NotOpened, Transit, TransitLogin, Vault, VaultError


def make_vault(settings: ServiceSettings, threads: Pool) -> Vault:
    """Without I/O: what is missing is said by the first who seals or opens."""
    file = KeyFile(key_path(settings.keys))
    if settings.vault == "file":
        return Vault(file, remember=settings.vault_remember)
    login = TransitLogin(
        address=settings.vault_address,
        token=settings.vault_token.get_secret_value(),
        user=settings.vault_user,
        password=settings.vault_password.get_secret_value(),
        namespace=settings.vault_namespace,
        timeout=settings.vault_timeout,
    )
    transit = Transit(login, threads, key=settings.vault_key, mount=settings.vault_mount)
    return Vault(transit, file, remember=settings.vault_remember)


def refusal_of(wrong: VaultError) -> Refused:
    """What the person is told who wanted something sealed or opened."""
    match wrong:
        case KeysAway():
            return Busy("The vault does not answer, so nothing secret can be saved or used now; try again.")
        case KeysMissing():
            return Refused(503, "keys_missing", f"Nothing secret can be kept here: {wrong}.")
        case NotOpened():
            return Refused(409, "not_opened", f"This secret cannot be opened ({wrong}): enter it again.")
        case _:
            return Refused(500, "vault", "The vault failed.")
