"""Seals values and opens them again, with data keys that are believed for minutes.

One data key seals what is sealed within its minutes; each value carries it wrapped, so that a value is whole by
itself. Opening asks the keeper of keys once per data key and then remembers it for the same minutes: most calls are
two microseconds, and go on while the keeper is away.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import OrderedDict

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vault.envelope import NONCE, VERSION, Envelope
from vault.errors import NotOpened
from vault.keys import DataKey, Keys

MOST_REMEMBERED = 1000  # data keys


class Vault:
    """`keys` seals what is new; `older` keepers open what was sealed before a deployment changed to `keys`.

    `remember`: seconds for which a data key is believed.
    """

    def __init__(self, keys: Keys, *older: Keys, remember: float = 300.0) -> None:
        self._keys = keys
        self._keepers = {each.kind: each for each in (*older, keys)}
        self._remember = remember
        self._sealing: tuple[DataKey, float] | None = None
        self._opened: OrderedDict[tuple[str, bytes], tuple[bytes, float]] = OrderedDict()
        self._making = asyncio.Lock()

    async def seal(self, plain: bytes, context: str) -> bytes:
        """Sealed for this context. Raises `KeysAway`, `KeysMissing`."""
        data_key = await self._sealing_key()
        nonce = os.urandom(NONCE)
        value = AESGCM(data_key.plain).encrypt(nonce, plain, _associated(context))
        return Envelope(data_key.key_id, data_key.wrapped, nonce, value).pack()

    async def open(self, sealed: bytes, context: str) -> bytes:
        """What was sealed. Raises `NotOpened`, `KeysAway`, `KeysMissing`."""
        envelope = Envelope.unpack(sealed)
        plain_key = await self._data_key(envelope)
        try:
            return AESGCM(plain_key).decrypt(envelope.nonce, envelope.value, _associated(context))
        except (InvalidTag, ValueError):
            raise NotOpened("damaged, or it was sealed for something else") from None

    async def rewrap(self, sealed: bytes) -> bytes:
        """The same with its data key under the current key; the value is not opened. Raises as `open` does."""
        envelope = Envelope.unpack(sealed)
        current = await self._keys.current()
        if envelope.key_id == current:
            return sealed
        keeper = self._keeper(envelope)
        if keeper is not self._keys:
            raise NotOpened("it was sealed with keys of another kind: save it anew")
        data_key = await keeper.rewrap(envelope.key_id, envelope.wrapped)
        return Envelope(data_key.key_id, data_key.wrapped, envelope.nonce, envelope.value).pack()

    async def check(self) -> None:
        """Raises `KeysAway` or `KeysMissing` unless something could be sealed now."""
        await self._sealing_key()

    def forget(self) -> None:
        """Drop every data key from memory."""
        self._sealing = None
        self._opened.clear()

    async def _sealing_key(self) -> DataKey:
        async with self._making:
            if self._sealing is None or self._sealing[1] < time.monotonic():
                self._sealing = (await self._keys.new_data_key(), time.monotonic() + self._remember)
            return self._sealing[0]

    async def _data_key(self, envelope: Envelope) -> bytes:
        name = (envelope.key_id, envelope.wrapped)
        known = self._opened.get(name)
        if known is not None and known[1] > time.monotonic():
            return known[0]
        plain = await self._keeper(envelope).unwrap(*name)
        self._opened[name] = (plain, time.monotonic() + self._remember)
        self._opened.move_to_end(name)
        while len(self._opened) > MOST_REMEMBERED:
            self._opened.popitem(last=False)
        return plain

    def _keeper(self, envelope: Envelope) -> Keys:
        kind = envelope.key_id.partition(":")[0]
        keeper = self._keepers.get(kind)
        if keeper is None:
            raise NotOpened(f"it was sealed with {kind or 'unknown'} keys, which this deployment does not use")
        return keeper


def _associated(context: str) -> bytes:
    return bytes((VERSION,)) + context.encode()
