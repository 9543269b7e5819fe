"""The real stack for tests: one of servers and one of everything per session, in folders that go away."""

import atexit
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cli.up.embedded import EmbeddedStack, embedded_servers, start_embedded

Stack = EmbeddedStack
Servers = EmbeddedStack

_KEYS = Path(tempfile.mkdtemp(prefix="retinue-keys-"))
atexit.register(shutil.rmtree, _KEYS, ignore_errors=True)

# Nothing of the developer's own settings may reach a stack under test, and nothing of it this machine's configuration.
QUIET = {
    "RETINUE_KEYS": str(_KEYS / "keys"),
    "RETINUE_VAULT": "",
    "RETINUE_PORT": "0",
    "RETINUE_HOST": "127.0.0.1",
    "RETINUE_PUBLIC_URL": "",
    "RETINUE_MODEL": "",
    "RETINUE_REGISTRATION": "",
    # A title is one more call of the model: tests that want it say so, scripts of all others do not count it.
    "RETINUE_TITLES": "false",
    "OPENAI_BASE_URL": "",
    "OPENAI_API_KEY": "",
    "ANTHROPIC_API_KEY": "",
    "GEMINI_API_KEY": "",
    "OPENROUTER_API_KEY": "",
    "OLLAMA_BASE_URL": "",
    # The machine of a test run is busy with other tests.
    "RETINUE_START_TIMEOUT_SECONDS": "120",
}


@contextmanager
def data_folder() -> Iterator[Path]:
    """A short path that Postgres' user can reach; kept for reading when the test fails badly."""
    parent = Path(tempfile.mkdtemp(prefix="retinue-test-"))
    parent.chmod(0o711)
    try:
        yield parent / "data"
    finally:
        shutil.rmtree(parent, ignore_errors=True)


def start_stack(data_dir: Path, env: Mapping[str, str] | None = None) -> Stack:
    """Servers and services, ready; end it with `.stop()`."""
    return start_embedded(data_dir, QUIET | dict(env or {}), services=True)


def start_servers(data_dir: Path) -> Servers:
    """NATS, Postgres and Valkey, migrated, without services; end it with `.stop()`."""
    return start_embedded(data_dir, QUIET, services=False)


__all__ = ["Servers", "Stack", "data_folder", "embedded_servers", "start_servers", "start_stack"]
