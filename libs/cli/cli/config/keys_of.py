"""The vault as the services of a deployment have it, for an operator's verbs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from chassis.pools import Pool
from chassis.sealing import make_vault
from chassis.settings import ServiceSettings, env_names
from cli.config.tables import environment_of
from vault import Vault

_FIELDS = [name for name in ServiceSettings.model_fields if name == "keys" or name.startswith("vault")]


@asynccontextmanager
async def vault_of(data_dir: Path | None) -> AsyncGenerator[Vault]:
    environment = environment_of("gateway", data_dir)
    named = {name: env_names(name, ServiceSettings.model_fields[name])[0] for name in _FIELDS}
    given = {name: environment[env] for name, env in named.items() if environment.get(env)}
    threads = Pool("vault", size=1, queue_limit=16)
    try:
        yield make_vault(ServiceSettings.read(given), threads)
    finally:
        await threads.close()
