"""The gateway's composition root: what it is made of, in the order in which it starts. No logic."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from blobs import FolderBlobs
from bus.client import BusClient
from bus.connection import connect
from bus.rpc.asking import Asker
from bus.streams import check_streams
from chassis import logs
from chassis.foundations import open_relay, open_store, open_vault
from chassis.http import HttpServer, bind, inherited
from chassis.pools import Pool
from chassis.relay import OutboxRelay
from chassis.saved import SavedSettings
from chassis.service import Service, run
from gateway import dead_letters
from gateway.addresses import ClientAddresses
from gateway.app import make_app
from gateway.auth import Authenticator
from gateway.cookies import SessionCookie
from gateway.events.hub import EventHub
from gateway.parts import Parts
from gateway.settings import GatewaySettings
from gateway.streams.streams import Streams
from gateway.throttle import Throttle
from store import Store, StoreAway
from store.system import callers, invites, threads

log = logs.get(__name__)

_TIDY_EVERY = 3600.0


async def compose(service: Service[GatewaySettings]) -> None:
    settings = service.settings
    store = await open_store(service)
    service.ready.check("postgres", store.ping)
    vault = open_vault(service)
    saved = SavedSettings(service, store, vault)
    await saved.load()
    bus, relay = await _bus_and_relay(service, store)
    await saved.listen(bus)
    asker = Asker(bus)
    await asker.start()
    passwords = Pool("passwords", size=settings.password_threads, queue_limit=settings.password_queue)
    service.on_stop("passwords", passwords.close)
    blob_threads = Pool("blobs", size=settings.blob_threads, queue_limit=settings.blob_queue)
    service.on_stop("blobs", blob_threads.close)
    cookie = SessionCookie(settings)
    parts = Parts(
        settings=settings,
        store=store,
        bus=bus,
        relay=relay,
        throttle=Throttle(_valkey(service)),
        passwords=passwords,
        cookie=cookie,
        auth=Authenticator(store, settings, cookie),
        addresses=ClientAddresses(settings.trusted_proxies),
        streams=Streams(bus, store, settings.stream_limits),
        events=EventHub(bus, settings.event_limits),
        blobs=FolderBlobs(settings.blob_folder, blob_threads),
        vault=vault,
        saved=saved,
        asker=asker,
    )
    service.spawn("tidy", _tidy(store, settings))
    service.spawn("dead-letters", dead_letters.watch(store, settings))
    service.spawn("streams", parts.streams.run())
    service.spawn("events", parts.events.run())
    app = make_app(parts)
    listener = bind(settings.host, settings.port) if settings.listen_fd is None else inherited(settings.listen_fd)
    server = HttpServer(app, listener, vanished=settings.stream_vanished, unsent=settings.stream_unsent)
    await server.start()
    service.on_stop("http", lambda: _stop_serving(service, server, parts))
    log.info("listening", port=server.port, registration=settings.registration_mode, production=settings.production)


async def _bus_and_relay(service: Service[GatewaySettings], store: Store) -> tuple[BusClient, OutboxRelay]:
    settings = service.settings
    relays: list[OutboxRelay] = []

    async def bus_is_back() -> None:
        for relay in relays:
            relay.wake()

    async def attempt() -> BusClient:
        client = await connect(settings.nats_url.get_secret_value(), settings.process, on_reconnect=bus_is_back)
        try:
            await check_streams(client)
        except BaseException:
            await client.close()
            raise
        return client

    bus = await service.connect("nats", attempt)
    service.on_stop("nats", bus.close)
    service.ready.check("nats", lambda: _is_connected(bus))
    relay = open_relay(service, store, bus)
    relays.append(relay)
    return bus, relay


async def _stop_serving(service: Service[GatewaySettings], server: HttpServer, parts: Parts) -> None:
    """Stop accepting, end what pages listen to, let requests end, and break what streams are left: their clients
    resume elsewhere.
    """
    settings = service.settings
    stopping = asyncio.ensure_future(server.stop(service.grace_left(), settings.connection_linger))
    parts.events.close()
    await asyncio.wait({stopping}, timeout=min(settings.stream_drain, max(0.0, service.grace_left() - 1)))
    if broken := parts.streams.reset_all():
        log.info("reset streams", streams=broken)
    await stopping


async def _is_connected(bus: BusClient) -> bool:
    return bus.is_connected


def _valkey(service: Service[GatewaySettings]) -> Redis | None:
    """A client that gives up fast: a limit that cannot be counted must not hold up what it limits."""
    settings = service.settings
    url = settings.redis_url.get_secret_value()
    if not url:
        log.warning("no REDIS_URL: limits are counted in this process alone")
        return None
    wait = settings.redis_timeout
    retry = Retry(NoBackoff(), 0)
    valkey = Redis.from_url(url, socket_timeout=wait, socket_connect_timeout=wait, retry=retry, protocol=2)
    service.on_stop("valkey", valkey.aclose)
    return valkey


async def _tidy(store: Store, settings: GatewaySettings) -> None:
    """Removes what has expired, every hour; a database that is away is asked again an hour later."""
    grace = timedelta(seconds=settings.expired_grace)
    while True:
        try:
            async with store.system() as session:
                ended = await callers.end_expired_sessions(session, grace)
                ended += await invites.remove_expired_invites(session)
            taken = await _take_deleted(store, settings.threads_keep_deleted)
            log.debug("tidied", ended=ended, deleted_threads=taken)
        except StoreAway as away:
            log.warning("could not tidy", reason=str(away))
        await asyncio.sleep(_TIDY_EVERY)


async def _take_deleted(store: Store, keep: float) -> int:
    """Deleted threads that nobody brought back for `keep` seconds, each in a transaction of its own; how many."""
    taken = 0
    while True:
        async with store.system() as session:
            count = await threads.purge_deleted(session, keep, limit=1)
        taken += count
        if not count:
            return taken


if __name__ == "__main__":
    run(GatewaySettings, compose)
