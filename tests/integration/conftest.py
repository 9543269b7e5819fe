"""A gateway with default settings, shared by every test that needs no settings of its own."""

from collections.abc import Iterator

import pytest

from tests.kit.gateway import Gateway, gateway_on
from tests.kit.stack import Servers


@pytest.fixture(scope="session")
def gateway(servers: Servers) -> Iterator[Gateway]:
    with gateway_on(servers) as running:
        yield running
