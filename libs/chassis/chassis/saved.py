"""Saved settings of the deployment: read at the start, and again whenever somebody says that they changed.

What is read at each use (`live`) is exchanged in the one settings object that everybody holds; all else waits for the
next start, and the tables say so. A saved value that is wrong (an older version's, say) is left out and said in the
log: the start goes on with what the environment says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from chassis import logs
from chassis.errors import Misconfigured
from chassis.service import Service
from chassis.setting_rows import Row
from chassis.settings import ServiceSettings
from contracts.settings import SettingLevel, SettingsChanged
from contracts.subjects import SETTINGS_CHANGED
from store import Store, StoreAway
from store.system import settings as rows
from store.system.settings import SavedSetting
from vault import KeysAway, NotOpened, Vault, VaultError

S = TypeVar("S", bound=ServiceSettings)

log = logs.get(__name__)

Listener = Callable[[UUID | None], None]
"""Told that something changed: for this user, or for everybody (none)."""


class Message(Protocol):
    @property
    def data(self) -> bytes: ...


class Bus(Protocol):
    """The part of the bus's client that is used here."""

    def subscribe(self, subject: str, *, cb: Callable[[Any], Awaitable[None]]) -> Awaitable[object]: ...


class SavedSettings(Generic[S]):
    """One per process; `settings` is the object that the whole process reads."""

    def __init__(self, service: Service[S], store: Store, vault: Vault) -> None:
        self._settings = service.settings
        self._service = service
        self._store = store
        self._vault = vault
        self._mark: object = None
        self._saved: dict[str, Any] = {}
        self._listeners: list[Listener] = []
        self._news = asyncio.Event()

    async def load(self) -> None:
        """For the start: everything that is saved counts. Call it before anybody reads a setting."""
        await self._service.connect("saved settings", self._read)
        self._settings.take_all(self._merged())
        if self._saved:
            log.info("saved settings", names=sorted(self._saved))

    async def listen(self, bus: Bus) -> None:
        """Hear of changes, and tell those who asked by `on_change`."""
        await bus.subscribe(SETTINGS_CHANGED, cb=self._heard)
        self._service.spawn("settings", self._keep())

    def on_change(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def table(self) -> list[Row]:
        """The settings as the next start would have them: what is saved, shown although it waits for a restart."""
        return self._merged().table()

    async def refresh(self) -> None:
        """Read again what is saved, if it has changed. Raises `StoreAway`, `KeysAway`."""
        if await self._read():
            changed = self._settings.take_live(self._merged())
            log.info("saved settings changed", taken_over=changed)

    async def _heard(self, message: Message) -> None:
        event = SettingsChanged.model_validate_json(message.data)
        if event.level is SettingLevel.DEPLOYMENT:
            self._news.set()
        else:
            self._tell(event.user_id)

    async def _keep(self) -> None:
        while True:
            heard = False
            try:
                async with asyncio.timeout(self._settings.settings_refresh):
                    heard = await self._news.wait()
            except TimeoutError:
                pass  # nobody said anything: a look all the same, for words that were lost
            self._news.clear()
            before = self._mark
            try:
                await self.refresh()
            except (StoreAway, KeysAway) as away:
                log.warning("saved settings are not read", reason=str(away))
                continue
            if heard or before != self._mark:
                self._tell(None)

    def _tell(self, user_id: UUID | None) -> None:
        for listener in self._listeners:
            listener(user_id)

    async def _read(self) -> bool:
        """Whether anything has changed since the last time."""
        async with self._store.system() as session:
            mark = await rows.changed_at(session)
            if mark == self._mark:
                return False
            found = await rows.saved(session)
        known = [each for each in found if each.name in type(self._settings).model_fields]
        self._saved = {each.name: value for each in known if (value := await self._opened(each)) is not None}
        self._mark = mark
        return True

    async def _opened(self, setting: SavedSetting) -> Any:
        if setting.sealed is None:
            return setting.value
        try:
            return (await self._vault.open(setting.sealed, setting.context)).decode()
        except KeysAway:
            raise
        except (NotOpened, VaultError) as wrong:
            log.error("a saved secret cannot be opened and does not count", setting=setting.name, reason=str(wrong))
            return None

    def _merged(self) -> S:
        cls = type(self._settings)
        for name, fault in cls.faults_of(self._saved).items():
            log.error("a saved setting does not count", setting=name, reason=fault)
            del self._saved[name]
        try:
            return cls.read(self._saved)
        except Misconfigured as wrong:  # each alone is right, so it is two that do not go together
            log.error("saved settings do not count", reason=str(wrong))
            return cls.read()
