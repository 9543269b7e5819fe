"""What a composition root begins with: store, vault and outbox relay, made by the settings, ended with the service."""

from __future__ import annotations

from functools import partial
from typing import Any

from bus.client import BusClient
from bus.hints import Hints
from bus.publish import publish_stored
from chassis.pools import Pool
from chassis.relay import OutboxRelay
from chassis.sealing import make_vault
from chassis.service import Service
from chassis.settings import ServiceSettings
from store import Store
from vault import Vault


async def open_store(service: Service[Any]) -> Store:
    """Both logins of this process; returns when Postgres has answered. Raises `Unreachable`."""
    settings: ServiceSettings = service.settings
    store = Store(
        settings.database_url.get_secret_value(),
        settings.database_system_url.get_secret_value(),
        name=settings.process,
        pool_size=settings.database_pool,
    )
    service.on_stop("store", store.dispose)
    await service.connect("postgres", store.ping)
    return store


def open_vault(service: Service[Any]) -> Vault:
    """Without I/O: what is missing is said by the first who seals or opens."""
    threads = Pool("vault", size=service.settings.vault_threads, queue_limit=512)
    service.on_stop("vault", threads.close)
    return make_vault(service.settings, threads)


def open_relay(service: Service[Any], store: Store, client: BusClient) -> OutboxRelay:
    """The relay, at work. Wake it when the bus is back."""
    settings: ServiceSettings = service.settings
    relay = OutboxRelay(
        store,
        partial(publish_stored, client),
        tell=Hints(client).say,
        connected=lambda: client.is_connected,
        sweep_every=settings.outbox_sweep,
        batch=settings.outbox_batch,
        in_flight=settings.outbox_in_flight,
        keep=settings.outbox_keep,
        keep_facts=settings.facts_keep,
    )
    service.spawn("outbox", relay.run())
    return relay
