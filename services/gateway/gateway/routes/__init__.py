"""HTTP in: one file per noun. Each declares its routes on a `Routes` of `gateway.http`."""

from gateway.routes import accounts, agents, threads, tokens

ROUTES = (accounts.routes, tokens.routes, agents.routes, threads.routes)
"""Every route of the gateway."""
