"""The addresses and passwords of a stack, read back from its data folder: for `retinue migrate`, doctor and tests."""

from pathlib import Path

from cli.up import keys, nats, orders, postgres, services, valkey
from cli.up.folder import DataFolder
from cli.up.orders import Orders
from cli.up.ports import Ports
from cli.up.private_files import read_json
from cli.up.program import Ground
from cli.up.refusal import Refused
from cli.up.settings import load_settings


def ground_of(data_dir: str | Path) -> Ground:
    """The ground of a stack that has been started at least once; nothing is claimed or changed."""
    folder = DataFolder(Path(data_dir).absolute())
    secrets = read_json(folder.secrets)
    if secrets is None:
        raise Refused(f"There is no stack in {folder.root} yet: start it with `retinue up`, or set RETINUE_DATA_DIR.")
    note = keys.note_of(folder)  # this shell may have other settings than the one that the stack was started from
    kept = {"vault": note.vault, "keys": note.keys} if note is not None else {}
    settings = load_settings(data_dir=folder.root, **kept)
    return Ground(folder, Ports.as_kept(folder.ports), secrets, settings, account=None)


def orders_of(data_dir: str | Path) -> Orders:
    return orders.orders_for(ground_of(data_dir))


def service_environment(data_dir: str | Path, service: str, number: int = 1) -> dict[str, str]:
    """What the supervisor tells this instance of a service (`gateway`, `turn_runner`): DATABASE_URL and the rest."""
    ground = ground_of(data_dir)
    row = next(row for row in services.SERVICES if row.name == service)
    return services.environment(row, services.instance_name(row, number), ground)


def key_file_of(data_dir: str | Path) -> Path:
    """Where the keys of this stack are, when they are kept in a file."""
    return Path(keys.environment(ground_of(data_dir).settings)["RETINUE_KEYS"])


def superuser_url(data_dir: str | Path, database: str = postgres.DATABASE) -> str:
    return postgres.url(ground_of(data_dir), postgres.SUPERUSER, database)


def role_url(data_dir: str | Path, role: str) -> str:
    return postgres.url(ground_of(data_dir), role)


def nats_url(data_dir: str | Path, user: str = nats.ADMIN) -> str:
    return nats.url(ground_of(data_dir), user)


def redis_url(data_dir: str | Path) -> str:
    return valkey.url(ground_of(data_dir))
