"""Keys that never leave a server: OpenBao's or Vault's Transit engine makes, wraps and unwraps data keys.

The only room that knows hvac. It is synchronous, so it runs on threads that the composition root gives; a token that
has expired is fetched anew, once, with the login that was given.
"""

# hvac is untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec, Protocol, TypeVar

from vault.errors import KeysAway, NotOpened
from vault.keys import DataKey

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)


class Threads(Protocol):
    """Where hvac runs, so that it never holds the event loop; `chassis.pools.Pool` is one."""

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...


@dataclass(frozen=True, slots=True)
class TransitLogin:
    """How to reach the server: an address, and a token or a user of the `userpass` method."""

    address: str
    token: str = field(default="", repr=False)
    user: str = ""
    password: str = field(default="", repr=False)
    namespace: str = ""
    timeout: float = 10.0
    """Seconds of one request."""


class Transit:
    """A keeper of keys behind HTTP. `key` is its name in the engine mounted at `mount`."""

    kind = "transit"

    def __init__(self, login: TransitLogin, threads: Threads, *, key: str = "retinue", mount: str = "transit") -> None:
        self._login = login
        self._threads = threads
        self._key = key
        self._mount = mount
        import hvac  # late: with keys in a file nobody needs it, nor the 12 MB that come with it

        options: dict[str, Any] = {"timeout": login.timeout}  # seconds; hvac says int and passes any number on
        self._client = hvac.Client(
            url=login.address, token=login.token or None, namespace=login.namespace or None, **options
        )

    async def current(self) -> str:
        found = await self._ask(lambda transit: transit.read_key(name=self._key, mount_point=self._mount))
        return self._id(int(found["data"]["latest_version"]))

    async def new_data_key(self) -> DataKey:
        made = await self._ask(
            lambda transit: transit.generate_data_key(
                name=self._key, key_type="plaintext", bits=256, mount_point=self._mount
            )
        )
        return self._made(base64.b64decode(made["data"]["plaintext"]), made["data"]["ciphertext"])

    async def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        name, text = self._named(key_id), self._text(wrapped)
        opened = await self._ask(
            lambda transit: transit.decrypt_data(name=name, ciphertext=text, mount_point=self._mount)
        )
        return base64.b64decode(opened["data"]["plaintext"])

    async def rewrap(self, key_id: str, wrapped: bytes) -> DataKey:
        if self._named(key_id) != self._key:
            made = await self.unwrap(key_id, wrapped)
            encoded = base64.b64encode(made).decode()
            sealed = await self._ask(
                lambda transit: transit.encrypt_data(name=self._key, plaintext=encoded, mount_point=self._mount)
            )
            return self._made(made, sealed["data"]["ciphertext"])
        text = self._text(wrapped)
        anew = await self._ask(
            lambda transit: transit.rewrap_data(name=self._key, ciphertext=text, mount_point=self._mount)
        )
        return self._made(b"", anew["data"]["ciphertext"])

    def _made(self, plain: bytes, ciphertext: str) -> DataKey:
        version = int(ciphertext.split(":")[1].removeprefix("v"))
        return DataKey(plain, self._id(version), ciphertext.encode())

    def _id(self, version: int) -> str:
        return f"{self.kind}:{self._key}:v{version}"

    @staticmethod
    def _named(key_id: str) -> str:
        return key_id.split(":")[1]

    @staticmethod
    def _text(wrapped: bytes) -> str:
        try:
            return wrapped.decode("ascii")
        except UnicodeDecodeError:
            raise NotOpened("damaged: the wrapped key is not Transit's") from None

    async def _ask(self, question: Callable[[Any], Any]) -> Any:
        return await self._threads.run(self._ask_now, question)

    def _ask_now(self, question: Callable[[Any], Any]) -> Any:
        """On a thread. Raises `KeysAway`, `NotOpened`; never with what was asked in the text."""
        import requests
        from hvac import exceptions as refusals

        passing = (refusals.VaultDown, refusals.RateLimitExceeded, refusals.BadGateway, refusals.InternalServerError)
        try:
            if not self._client.token:
                self._sign_in()
            try:
                return question(self._client.secrets.transit)
            except refusals.Forbidden:
                if not self._login.user:
                    raise
                self._sign_in()
                return question(self._client.secrets.transit)
        except (*passing, requests.RequestException) as away:
            log.warning("the vault does not answer: %s", type(away).__name__)
            raise KeysAway(f"the vault at {self._login.address} does not answer ({type(away).__name__})") from None
        except (refusals.Forbidden, refusals.Unauthorized):
            raise KeysAway(
                f"the vault at {self._login.address} refuses our login, or its policy refuses the Transit key "
                f"{self._key!r}"
            ) from None
        except refusals.InvalidRequest:
            raise NotOpened("the vault cannot open it: damaged, or sealed with another key") from None
        except refusals.InvalidPath:
            raise KeysAway(f"the vault has no Transit key {self._key!r} at {self._mount!r}") from None
        except refusals.VaultError as wrong:
            raise KeysAway(f"the vault at {self._login.address} fails ({type(wrong).__name__})") from None

    def _sign_in(self) -> None:
        login = self._login
        if not login.user:
            raise KeysAway(f"no token and no user for the vault at {login.address}: set RETINUE_VAULT_TOKEN")
        self._client.auth.userpass.login(username=login.user, password=login.password)
