"""Sealing: AES-256-GCM under data keys, which a key file or OpenBao/Vault Transit wraps.

    vault = Vault(KeyFile(path))
    sealed = await vault.seal(b"sk-…", context="provider/1b2c…")
    plain = await vault.open(sealed, context="provider/1b2c…")      # NotOpened under any other context

The context says whose and what for; it is not stored, and what was sealed opens under the same one only.
"""

from vault.errors import KeysAway, KeysMissing, NotOpened, VaultError
from vault.key_file import KeyFile
from vault.keys import DataKey, Keys
from vault.transit import Threads, Transit, TransitLogin
from vault.vault import Vault

__all__ = [
    "DataKey",
    "KeyFile",
    "Keys",
    "KeysAway",
    "KeysMissing",
    "NotOpened",
    "Threads",
    "Transit",
    "TransitLogin",
    "Vault",
    "VaultError",
]
