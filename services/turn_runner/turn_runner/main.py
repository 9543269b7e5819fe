"""The composition root of the turn-runner: settings, connections, lease, sweep, broker. No logic."""

from __future__ import annotations

from blobs import FolderBlobs
from bus.broker import make_broker
from bus.connection import connect
from bus.hints import Hints
from bus.publish import AckedPublisher, publish_stored
from bus.streams import check_streams
from chassis.pools import Pool
from chassis.relay import OutboxRelay
from chassis.saved import SavedSettings
from chassis.sealing import make_vault
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
    store = Store(
        settings.database_url.get_secret_value(),
        settings.database_system_url.get_secret_value(),
        name=settings.process,
        pool_size=settings.database_pool,
    )
    service.on_stop("store", store.dispose)
    await service.connect("postgres", store.ping)
    vault_threads = Pool("vault", size=settings.vault_threads, queue_limit=512)
    service.on_stop("vault", vault_threads.close)
    vault = make_vault(settings, vault_threads)
    saved = SavedSettings(service, store, vault)
    await saved.load()

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

    hints = Hints(client)
    relay = OutboxRelay(
        store,
        lambda subject, payload, id, headers=None: publish_stored(client, subject, payload, id, headers),
        tell=hints.say,
        connected=lambda: client.is_connected,
        sweep_every=settings.outbox_sweep,
        batch=settings.outbox_batch,
        in_flight=settings.outbox_in_flight,
        keep=settings.outbox_keep,
        keep_facts=settings.facts_keep,
    )
    service.spawn("outbox", relay.run())

    publisher = AckedPublisher(client)
    await publisher.start()
    pace = Pace(settings.log_gather)
    service.spawn("pace", pace.watch())
    logs = Logs(client, publisher, pace, most_unacknowledged=settings.log_unacknowledged)
    service.spawn("log", logs.keep_publishing())

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
    titles = Titles(store, hints.say)
    service.on_stop("titles", titles.aclose)

    lease = Lease(
        store,
        name=settings.process,
        slots=settings.runner_slots,
        every=settings.heartbeat_every,
        lease=settings.lease,
        trust=settings.trust,
    )
    limits = turns.Limits(per_user=settings.turns_per_user, total=settings.turns_total)
    threads = Pool("blobs", size=settings.blob_threads, queue_limit=4 * settings.runner_slots)
    service.on_stop("blobs", threads.close)
    blobs = FolderBlobs(settings.blob_folder, threads)
    sweeping = keep_sweeping(store, blobs, every=settings.blob_sweep, older_than=settings.blob_keep)
    service.spawn("blobs", sweeping)
    outputs = Outputs(
        blobs, threads, store, lease, most_bytes=settings.tool_output_bytes, most_blob_bytes=settings.blob_bytes
    )
    web = Web.of(settings)
    service.on_stop("web", web.aclose)
    users = UsersProviders(store, vault, settings)
    saved.on_change(users.forget)
    await saved.listen(client)
    pulls = Pulls(models.connections)
    service.on_stop("pulls", pulls.aclose)
    questions = Questions(settings, saved, store, vault, users, catalogue, pulls)
    service.on_stop("questions", (await questions.subscribe(client)).close)
    workshop = Workshop(
        settings=settings,
        store=store,
        models=models,
        lease=lease,
        logs=logs,
        relay=relay,
        limits=limits,
        outputs=outputs,
        web=web,
        users=users,
        catalogue=catalogue,
        prompts=KeptPrompts(),
        titles=titles,
    )
    slots = Slots(workshop)
    await lease.beat(slots)
    service.on_stop("lease", lease.leave)
    service.spawn("heartbeat", lease.keep(slots))
    service.spawn("sweep", Sweeper(workshop, slots, client).keep_sweeping())

    await subscribe_stops(client, slots)
    service.on_stop("turns", lambda: slots.drain(service.grace_left))
    broker = make_broker(url, f"{settings.process}-requests")
    subscribe_requests(broker, workshop, slots)
    await broker.start()

    async def claim_no_more() -> None:
        slots.close()
        await broker.stop()

    service.on_stop("requests", claim_no_more)


if __name__ == "__main__":
    run(RunnerSettings, compose)
