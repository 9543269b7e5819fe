"""The composition root of the turn-runner: settings, connections, lease, sweep, broker. No logic."""

from __future__ import annotations

from blobs import FolderBlobs
from bus.broker import make_broker
from bus.client import BusClient
from bus.connection import connect
from bus.hints import Hints
from bus.publish import AckedPublisher
from bus.streams import check_streams
from chassis.foundations import open_relay, open_store, open_vault
from chassis.pools import Pool
from chassis.relay import OutboxRelay
from chassis.saved import SavedSettings
from chassis.service import Service, run
from llm import Models, ModelSettings, OllamaSettings, Patience
from llm.catalogue import Catalogue
from store import Store, turns
from turn_runner.blob_sweep import keep_sweeping
from turn_runner.handlers import subscribe_requests, subscribe_stops
from turn_runner.held import Workshop
from turn_runner.lease import Lease
from turn_runner.log import Logs, Pace
from turn_runner.outputs import Outputs
from turn_runner.providers import UsersProviders
from turn_runner.pulls import Pulls
from turn_runner.rpc import Questions
from turn_runner.seen import KeptPrompts
from turn_runner.settings import RunnerSettings
from turn_runner.slots import Slots
from turn_runner.sweeper import Sweeper
from turn_runner.titles import Titles
from turn_runner.web import Web


async def compose(service: Service[RunnerSettings]) -> None:
    settings = service.settings
    store = await open_store(service)
    vault = open_vault(service)
    saved = SavedSettings(service, store, vault)
    await saved.load()
    client, relay, logs = await _bus(service, store)
    models, catalogue = _models(service)
    users = UsersProviders(store, vault, settings)
    saved.on_change(users.forget)
    await saved.listen(client)
    pulls = Pulls(models.connections)
    service.on_stop("pulls", pulls.aclose)
    questions = Questions(settings, saved, store, vault, users, catalogue, pulls)
    service.on_stop("questions", (await questions.subscribe(client)).close)
    titles = Titles(store, Hints(client).say)
    service.on_stop("titles", titles.aclose)
    web = Web.of(settings)
    service.on_stop("web", web.aclose)
    lease = Lease(
        store,
        name=settings.process,
        slots=settings.runner_slots,
        every=settings.heartbeat_every,
        lease=settings.lease,
        trust=settings.trust,
    )
    workshop = Workshop(
        settings=settings,
        store=store,
        models=models,
        lease=lease,
        logs=logs,
        relay=relay,
        limits=turns.Limits(per_user=settings.turns_per_user, total=settings.turns_total),
        outputs=_outputs(service, store, lease),
        web=web,
        users=users,
        catalogue=catalogue,
        prompts=KeptPrompts(),
        titles=titles,
    )
    await _claim(service, workshop, client)


async def _bus(service: Service[RunnerSettings], store: Store) -> tuple[BusClient, OutboxRelay, Logs]:
    """The connection, and the two who speak through it and go on when it is back: outbox and log."""
    settings = service.settings

    async def bus_is_away() -> None:
        service.ready.hold("nats", "away")

    async def bus_is_back() -> None:
        service.ready.release("nats")
        relay.wake()
        await logs.publish_again()

    url = settings.nats_url.get_secret_value()
    client = await service.connect(
        "nats", lambda: connect(url, settings.process, on_disconnect=bus_is_away, on_reconnect=bus_is_back)
    )
    service.on_stop("nats", client.close)
    await service.connect("streams", lambda: check_streams(client))
    relay = open_relay(service, store, client)
    publisher = AckedPublisher(client)
    await publisher.start()
    pace = Pace(settings.log_gather)
    service.spawn("pace", pace.watch())
    logs = Logs(client, publisher, pace, most_unacknowledged=settings.log_unacknowledged)
    service.spawn("log", logs.keep_publishing())
    return client, relay, logs


def _models(service: Service[RunnerSettings]) -> tuple[Models, Catalogue]:
    settings = service.settings
    models = Models(
        ModelSettings(
            default_model=settings.model,
            patience=Patience(first_byte=settings.model_first_byte, silence=settings.model_silence),
            providers=settings.environment_providers,
            ollama=OllamaSettings(settings.ollama_context, settings.ollama_keep_alive),
        )
    )
    service.on_stop("models", models.aclose)
    catalogue = Catalogue(models.connections)
    service.on_stop("catalogue", catalogue.aclose)
    return models, catalogue


def _outputs(service: Service[RunnerSettings], store: Store, lease: Lease) -> Outputs:
    settings = service.settings
    threads = Pool("blobs", size=settings.blob_threads, queue_limit=4 * settings.runner_slots)
    service.on_stop("blobs", threads.close)
    blobs = FolderBlobs(settings.blob_folder, threads)
    sweeping = keep_sweeping(store, blobs, every=settings.blob_sweep, older_than=settings.blob_keep)
    service.spawn("blobs", sweeping)
    return Outputs(
        blobs, threads, store, lease, most_bytes=settings.tool_output_bytes, most_blob_bytes=settings.blob_bytes
    )


async def _claim(service: Service[RunnerSettings], workshop: Workshop, client: BusClient) -> None:
    """From here on this process is a runner: it lives, sweeps, hears stops and takes requests."""
    settings, lease = service.settings, workshop.lease
    slots = Slots(workshop)
    await lease.beat(slots)
    service.on_stop("lease", lease.leave)
    service.spawn("heartbeat", lease.keep(slots))
    service.spawn("sweep", Sweeper(workshop, slots, client).keep_sweeping())

    await subscribe_stops(client, slots)
    service.on_stop("turns", lambda: slots.drain(service.grace_left))
    broker = make_broker(settings.nats_url.get_secret_value(), f"{settings.process}-requests")
    subscribe_requests(broker, workshop, slots)
    await broker.start()

    async def claim_no_more() -> None:
        slots.close()
        await broker.stop()

    service.on_stop("requests", claim_no_more)


if __name__ == "__main__":
    run(RunnerSettings, compose)
