"""What keeps the keys that wrap data keys, whichever way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class DataKey:
    """A key that seals values, and the same wrapped, to be stored beside them."""

    plain: bytes = field(repr=False)
    key_id: str
    """`KIND:NAME`: which key wraps it, and who keeps that one."""
    wrapped: bytes


class Keys(Protocol):
    """A keeper of wrapping keys. Raises `KeysAway` where it cannot be asked now, `KeysMissing` where it has none."""

    kind: str
    """The first word of its key ids."""

    async def new_data_key(self) -> DataKey:
        """A fresh key, wrapped under the current one."""
        ...

    async def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        """The data key. Raises `NotOpened` for what none of its keys has wrapped."""
        ...

    async def current(self) -> str:
        """The id under which new data keys are wrapped."""
        ...

    async def rewrap(self, key_id: str, wrapped: bytes) -> DataKey:
        """The same data key under the current id. Raises `NotOpened`."""
        ...
