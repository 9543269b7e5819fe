"""Saying hints: at once, to whoever listens, and never again."""

from __future__ import annotations

import logging

import nats.errors
from nats.aio.client import Client

from contracts.hints import Hint
from contracts.subjects import hint_subject

log = logging.getLogger(__name__)


class Hints:
    """The voice of one process."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def say(self, hint: Hint) -> None:
        """While the bus is away nothing is said: pages look again when their gateway hears the bus once more."""
        if not self._client.is_connected:
            return
        try:
            await self._client.publish(hint_subject(hint.user_id), hint.to_bytes())
        except nats.errors.Error as wrong:
            log.debug("a hint was not said: %r", wrong)
