"""The services of the stack: a new one is one more line of the table."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from cli.up import keys, nats, openbao, postgres, probes, valkey
from cli.up.program import Ground, Program
from cli.up.secrets import SIGNING_KEY
from cli.up.settings import UpSettings


@dataclass(frozen=True)
class Service:
    """A row of the table; `name` is its package, its Postgres login and its NATS user."""

    name: str
    instances: Callable[[UpSettings], int]
    public: bool = False
    uses_valkey: bool = False

    def instance_names(self, settings: UpSettings) -> list[str]:
        return [instance_name(self, number) for number in range(1, self.instances(settings) + 1)]


SERVICES = (
    Service("gateway", lambda settings: settings.gateways, public=True, uses_valkey=True),
    Service("turn_runner", lambda settings: settings.turn_runners),
)


def instance_name(service: Service, number: int) -> str:
    """`turn-runner-2`: the name in ps, logs and metrics."""
    return f"{service.name.replace('_', '-')}-{number}"


def metrics_secret(instance: str) -> str:
    return f"metrics_{instance}"


def roles_of(service: Service) -> list[str]:
    """The Postgres logins of a service: one under row-level security, one that passes it."""
    return [service.name, f"{service.name}_system"]


def all_roles() -> list[str]:
    """Every Postgres login below the superuser; the owner runs migrations."""
    return ["retinue_owner", *(role for service in SERVICES for role in roles_of(service))]


def secret_names(services: tuple[Service, ...], settings: UpSettings) -> list[str]:
    instances = [instance for service in services for instance in service.instance_names(settings)]
    return [*map(postgres.secret_of, all_roles()), *map(metrics_secret, instances), SIGNING_KEY]


def programs(services: tuple[Service, ...], ground: Ground, listener: int) -> list[Program]:
    """One program per instance; `listener` is the public socket that public services accept from."""
    return [
        _program(service, instance, ground, listener)
        for service in services
        for instance in service.instance_names(ground.settings)
    ]


def _program(service: Service, instance: str, ground: Ground, listener: int) -> Program:
    first, second = (
        _program_on(ground.ports.claim(f"{instance}.{port}"), service, instance, ground, listener)
        for port in ("health", "health2")
    )
    return replace(first, twin=second)


def _program_on(health: int, service: Service, instance: str, ground: Ground, listener: int) -> Program:
    env = os.environ | environment(service, instance, ground)
    env["RETINUE_HEALTH_PORT"] = str(health)
    if service.public:
        env |= {"RETINUE_LISTEN_FD": str(listener), "RETINUE_PORT": str(ground.ports["public"])}
    return Program(
        name=instance,
        kind="service",
        argv=[sys.executable, "-P", "-m", f"{service.name}.main"],
        env=env,
        is_ready=partial(probes.service_is_ready, health),
        ports=[ground.ports["public"], health] if service.public else [health],
        inherited=(listener,) if service.public else (),
    )


def environment(service: Service, instance: str, ground: Ground) -> dict[str, str]:
    """What a service is told about the stack; compose sets the same names."""
    told = {
        "DATABASE_URL": postgres.url(ground, service.name),
        "RETINUE_DATABASE_SYSTEM_URL": postgres.url(ground, f"{service.name}_system"),
        "NATS_URL": nats.url(ground, service.name),
        "RETINUE_INSTANCE": instance,
        "RETINUE_METRICS_TOKEN": ground.secrets[metrics_secret(instance)],
        "RETINUE_SECRET_KEY": ground.secrets[SIGNING_KEY],
        "RETINUE_DATA_DIR": str(ground.folder.root),
        "RETINUE_HOST": ground.settings.host,
        "RETINUE_STOP_GRACE": str(ground.settings.grace_seconds),
        "RETINUE_DRAIN_GRACE": str(ground.settings.drain_grace),
        "PYTHONUNBUFFERED": "1",
        **keys.environment(ground.settings),
    }
    if ground.settings.vault == "openbao":
        told |= openbao.environment(ground)
    if service.uses_valkey:
        told["REDIS_URL"] = valkey.url(ground)
    if ground.web_dist is not None:
        told["RETINUE_WEB_DIST"] = str(ground.web_dist)
    return told
