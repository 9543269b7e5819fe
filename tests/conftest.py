"""Session fixtures: the real servers, and the whole stack, each started once by the first test that asks."""

from collections.abc import Iterator

import pytest

from tests.kit.stack import Servers, Stack, data_folder, start_servers, start_stack


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """NATS, Postgres and Valkey, migrated; no services."""
    with data_folder() as data_dir:
        running = start_servers(data_dir)
        yield running
        running.stop()


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Everything behind `stack.url`; tests that kill or hold its processes must wait until they are back."""
    with data_folder() as data_dir:
        running = start_stack(data_dir)
        yield running
        running.stop()
