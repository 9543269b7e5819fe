"""How long the made-up cases may take: see README.md."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.kit.stack import data_folder, start_servers
from tests.property.shore import Shore

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("default", deadline=None, suppress_health_check=_SLOW, max_examples=100)
settings.register_profile("long", deadline=None, suppress_health_check=_SLOW, max_examples=4000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def shore() -> Iterator[Shore]:
    """Servers of our own: nobody else relays, sweeps or counts here."""
    with data_folder() as data_dir:
        servers = start_servers(data_dir)
        opened = Shore(servers)
        try:
            yield opened
        finally:
            opened.close()
            servers.stop()
