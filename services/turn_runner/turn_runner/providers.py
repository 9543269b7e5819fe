"""Who serves a user's turns: the user's own keys first, then what the deployment saved, then what its environment says.

Of two with one name the first counts. Keys are opened here and nowhere else; what is believed is believed for seconds
and dropped at once when somebody says that it changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from chassis import logs
from llm import NotConfigured
from llm.provider import KINDS, Kind, Provider
from store import Store
from store.repositories import providers as rows
from store.repositories import settings as choices
from store.repositories.providers import SavedProvider
from turn_runner.settings import RunnerSettings
from vault import KeysAway, Vault, VaultError

log = logs.get(__name__)

MOST_REMEMBERED = 10_000  # users


@dataclass(frozen=True, slots=True)
class Known:
    """A provider with where it came from; one whose key cannot be opened serves nobody, and says why."""

    provider: Provider
    row: SavedProvider | None = None
    fault: str | None = None

    @property
    def hint(self) -> str | None:
        """The end of its key; none without one."""
        if self.row is not None:
            return self.row.key_hint
        return key_hint(self.provider.key) if self.provider.key else None


@dataclass(slots=True)
class _Remembered:
    known: tuple[Known, ...]
    until: float


class UsersProviders:
    """One per process. `remember`: seconds for which rows are believed without a word that they changed."""

    def __init__(self, store: Store, vault: Vault, settings: RunnerSettings, *, remember: float = 30.0) -> None:
        self._store = store
        self._vault = vault
        self._settings = settings
        self._remember = remember
        self._shared: _Remembered | None = None
        self._own: dict[UUID, _Remembered] = {}
        self._changes = 0
        self._one_looks = asyncio.Lock()

    async def of(self, user_id: UUID, *, has_own: bool = True) -> tuple[Provider, ...]:
        """All that may serve this user, the first first; without `has_own` those of a user who has none of their own.

        Raises `StoreAway`, and `NotConfigured` while a vault that is away keeps keys from being opened.
        """
        return tuple(each.provider for each in await self.known_of(user_id, has_own=has_own) if each.fault is None)

    async def known_of(self, user_id: UUID, *, has_own: bool = True) -> tuple[Known, ...]:
        """The same with where each came from, and with those that cannot be used."""
        own = await self._owned(user_id) if has_own and self._settings.own_keys else ()
        all_of_them = (*own, *await self._deployment(), *map(Known, self._settings.environment_providers))
        first: dict[str, Known] = {}
        for each in all_of_them:
            first.setdefault(each.provider.name, each)
        return tuple(first.values())

    async def settings_of(self, user_id: UUID) -> Mapping[str, Any]:
        """What the user chose for themselves, by name; only what is set."""
        async with self._store.session(user_id) as session:
            return await choices.of_user(session)

    def forget(self, user_id: UUID | None) -> None:
        """Something changed: for this user, or for everybody. What is just being read may be from before."""
        self._changes += 1
        if user_id is None:
            self._shared = None
            self._own.clear()
        else:
            self._own.pop(user_id, None)

    async def _deployment(self) -> tuple[Known, ...]:
        async with self._one_looks:  # a thousand turns that begin at once ask once
            shared = self._shared
            if shared is None or shared.until < time.monotonic():
                changes = self._changes
                async with self._store.system() as session:
                    found = await rows.list_of(session, None)
                shared = await self._opened_all(found, shared)
                if changes == self._changes:
                    self._shared = shared
            return shared.known

    async def _owned(self, user_id: UUID) -> tuple[Known, ...]:
        remembered = self._own.get(user_id)
        if remembered is None or remembered.until < time.monotonic():
            changes = self._changes
            async with self._store.session(user_id) as session:
                found = await rows.list_of(session, user_id)
            remembered = await self._opened_all(found, remembered)
            if changes == self._changes:
                while len(self._own) >= MOST_REMEMBERED:
                    self._own.pop(next(iter(self._own)))
                self._own[user_id] = remembered
        return remembered.known

    async def _opened_all(self, found: list[SavedProvider], old: _Remembered | None) -> _Remembered:
        """While the vault is away, what was known goes on; who knows nothing hears of it as `NotConfigured`."""
        until = time.monotonic() + self._remember
        try:
            return _Remembered(tuple([await self._opened(row) for row in found if row.kind in KINDS]), until)
        except KeysAway as away:
            log.warning("keys of providers cannot be opened now", reason=str(away))
            if old is not None:
                return _Remembered(old.known, until)
            raise NotConfigured("the vault does not answer, so no provider's key can be used; try again") from away

    async def _opened(self, row: SavedProvider) -> Known:
        key, fault = "", None
        if row.key_sealed is not None:
            try:
                key = (await self._vault.open(row.key_sealed, row.context)).decode()
            except KeysAway:
                raise
            except VaultError as wrong:
                log.error("a provider's key cannot be opened", provider_id=row.id, reason=str(wrong))
                fault = "Its key cannot be opened: enter it again."
        kind = cast("Kind", row.kind)
        return Known(Provider(row.name, kind, row.base_url or "", key, row.user_id is not None), row, fault)


def key_hint(key: str) -> str:
    """The end of a key, for people to tell two apart; nothing of one that is short enough to be guessed on."""
    return f"…{key[-4:]}" if len(key) >= 16 else "…"
