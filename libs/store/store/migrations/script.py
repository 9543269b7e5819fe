"""Lets a migration be a script of many statements, which a prepared statement cannot hold."""

from __future__ import annotations

from typing import Any

from alembic import op


def run(sql: str) -> None:
    """Executes the script inside the migration's transaction."""
    bind = op.get_bind()
    bind.exec_driver_sql("set local lock_timeout = '5s'")  # rather fail than queue behind a long transaction
    connection: Any = bind.connection.dbapi_connection

    async def execute(driver: Any) -> None:
        await driver.execute(sql)

    connection.run_async(execute)
