"""Events about what people set up: settings and providers."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar
from uuid import UUID

from contracts.event import Event


class SettingLevel(StrEnum):
    DEPLOYMENT = "deployment"
    USER = "user"


class SettingsChanged(Event):
    """Saved settings or providers are not what they were; `user_id` is who changed them. Each process hears it for
    its own sake and reads the rows anew; pages hear it for their user's.
    """

    name: ClassVar[str] = "settings.changed.v1"

    level: SettingLevel
    provider_id: UUID | None = None
