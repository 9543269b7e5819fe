"""What routes work with: everything that the composition root made, in one object that they ask for by type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Depends
from nats.aio.client import Client
from starlette.requests import Request

from blobs import BlobStore
from bus.rpc.asking import Asker
from chassis.pools import Pool
from chassis.relay import OutboxRelay
from chassis.saved import SavedSettings
from contracts.subjects import stop_subject
from gateway.addresses import ClientAddresses
from gateway.auth import Authenticator, Caller
from gateway.cookies import SessionCookie
from gateway.events.hub import EventHub
from gateway.settings import GatewaySettings
from gateway.streams.streams import Streams
from gateway.throttle import Throttle
from store import Store
from store.outbox import OutboxMessage
from vault import Vault


@dataclass
class Parts:
    """Made once by `main`, reached from a request as `request.app.state.parts`."""

    settings: GatewaySettings
    store: Store
    bus: Client
    relay: OutboxRelay
    throttle: Throttle
    passwords: Pool
    cookie: SessionCookie
    auth: Authenticator
    addresses: ClientAddresses
    streams: Streams
    """Readers of the chunk log."""
    events: EventHub
    """Open pages that wait for hints."""
    blobs: BlobStore
    vault: Vault
    saved: SavedSettings[GatewaySettings]
    asker: Asker
    """Asks turn-runners what the gateway must not ask of providers itself."""

    async def after_commit(self, rows: list[OutboxMessage], stop: UUID | None = None) -> None:
        """Say what a transaction of the door has made true: wake-ups from the outbox, and a running turn to stop.

        The stop is a shortcut; if it is lost, the runner finds it in the turn's row at its next commit point.
        """
        self.relay.after_commit(rows)
        if stop is not None and self.bus.is_connected:
            await self.bus.publish(stop_subject(stop), b"")


# Coroutines, because FastAPI would call plain functions on a thread each.


async def _parts(request: Request) -> Parts:
    return request.app.state.parts


async def _caller(request: Request) -> Caller:
    return request.state.caller


async def _caller_or_none(request: Request) -> Caller | None:
    return request.state.caller


PartsOf = Annotated[Parts, Depends(_parts)]
CallerOf = Annotated[Caller, Depends(_caller)]
"""For routes whose auth is `required`."""
MaybeCaller = Annotated[Caller | None, Depends(_caller_or_none)]
"""For routes whose auth is `optional` or `none`."""
