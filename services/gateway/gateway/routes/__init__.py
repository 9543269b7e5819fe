"""HTTP in: one file per noun. Each declares its routes on a `Routes` of `gateway.http`."""

from gateway.routes import accounts, admin_dead_letters, agents, blobs, chat, events, threads, tokens, tools, turns

ROUTES = (
    accounts.routes,
    tokens.routes,
    agents.routes,
    tools.routes,
    threads.routes,
    turns.routes,
    chat.routes,
    events.routes,
    blobs.routes,
    admin_dead_letters.routes,
)
"""Every route of the gateway."""
