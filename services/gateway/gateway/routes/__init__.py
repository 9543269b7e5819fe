"""HTTP in: one file per noun. Each declares its routes on a `Routes` of `gateway.http`."""

from gateway.routes import (
    accounts,
    admin_dead_letters,
    agents,
    blobs,
    chat,
    events,
    inspector,
    models,
    providers,
    search,
    settings,
    start,
    threads,
    tokens,
    tools,
    turns,
    usage,
)

ROUTES = (
    accounts.routes,
    tokens.routes,
    agents.routes,
    tools.routes,
    search.routes,  # before the threads: their ids would take its name for one
    threads.routes,
    turns.routes,
    chat.routes,
    inspector.routes,
    usage.routes,
    models.routes,
    providers.routes,
    settings.routes,
    start.routes,
    events.routes,
    blobs.routes,
    admin_dead_letters.routes,
)
"""Every route of the gateway."""
