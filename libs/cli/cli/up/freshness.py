"""Whether the migration has anything to do: its imports alone take longer than all servers do to start.

It is skipped only when the code it runs and the passwords it sets are those of the last successful one, and the
database and the bus still say what they said then (a restored dump or an emptied folder does not).
"""

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cli.up import nats, postgres, probes
from cli.up.orders import Orders
from cli.up.private_files import read_json, write_private_json
from cli.up.program import Ground

# What decides about tables, roles, grants, streams and consumers.
PACKAGES = ("store", "bus", "contracts")
REVISION = "select version_num from alembic_version"


async def is_fresh(ground: Ground, orders: Orders) -> bool:
    """Whether servers and code are as the last migration left them."""
    noted = read_json(ground.folder.migrated)
    return noted is not None and noted == await _state(ground, orders)


async def note_fresh(ground: Ground, orders: Orders) -> None:
    """Write down how the migration left things."""
    write_private_json(ground.folder.migrated, await _state(ground, orders))


async def _state(ground: Ground, orders: Orders) -> dict[str, Any]:
    password = ground.secrets[nats.secret_of(nats.ADMIN)]
    return {
        "code": _fingerprint(orders),
        "revision": await postgres.answer(ground, REVISION),
        "streams": sorted(await probes.nats_streams(ground.ports["nats"], nats.ADMIN, password)),
    }


def _fingerprint(orders: Orders) -> str:
    digest = hashlib.sha256(repr(sorted(orders.passwords.items())).encode())
    for package in PACKAGES:
        spec = find_spec(package)
        for place in (spec and spec.submodule_search_locations) or []:
            for path in sorted(Path(place).rglob("*.py")):
                digest.update(path.relative_to(place).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
