"""Roles, tables, streams: brought to the state that this version needs, before any service starts.

As a process of its own (`python -m cli.up.migration`) it reads its orders, with their passwords, from stdin.
"""

import asyncio
import json
import sys

from bus.connection import connect
from bus.streams import ensure_streams
from cli.accounts.setup_code import new_setup_code
from cli.up.orders import Orders
from store.migrate import migrate as migrate_database


async def migrate(orders: Orders) -> None:
    """Bring tables and streams up to date; safe to run again, and by several at once (a lock orders them)."""
    await migrate_database(orders.superuser_url, orders.passwords)
    connection = await connect(orders.nats_url, name="migrate")
    try:
        await ensure_streams(connection)
    finally:
        await connection.close()


async def migrate_as_ordered(orders: Orders) -> None:
    """Migrate; print the set-up code, and nothing else, where the first account needs one."""
    await migrate(orders)
    if orders.setup_code_url is not None and (code := await new_setup_code(orders.setup_code_url)):
        print(code)


if __name__ == "__main__":
    asyncio.run(migrate_as_ordered(Orders(**json.load(sys.stdin))))
