"""What the migration is told: where to connect, and the passwords that the roles shall have."""

import json
from dataclasses import asdict, dataclass

from cli.up import nats, postgres, services
from cli.up.program import Ground


@dataclass(frozen=True)
class Orders:
    """Where to migrate, and with which rights."""

    superuser_url: str
    nats_url: str
    passwords: dict[str, str]  # by Postgres role
    setup_code_url: str | None = None  # the login that makes the set-up code, where the first account needs one

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def orders_for(ground: Ground) -> Orders:
    return Orders(
        superuser_url=postgres.url(ground, postgres.SUPERUSER, "postgres"),
        nats_url=nats.url(ground, nats.ADMIN),
        passwords={role: ground.secrets[postgres.secret_of(role)] for role in services.all_roles()},
        setup_code_url=postgres.url(ground, "gateway_system") if ground.settings.production else None,
    )
