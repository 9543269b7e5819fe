"""What more than one module here stands on: a gateway, a runner with the scripted model, a writer's own ways in."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from nats.aio.client import Client

from bus.connection import connect
from cli.bench.client import TurnClient
from store import Store
from tests.kit.gateway import Gateway, Person, gateway_on
from tests.kit.model import ScriptedModel
from tests.kit.runner import Door, runner_on
from tests.kit.stack import Servers, data_folder, start_servers


@pytest.fixture(scope="session")
def gateway(servers: Servers) -> Iterator[Gateway]:
    """With default settings, shared by every test that needs no settings of its own."""
    with gateway_on(servers) as running:
        yield running


@pytest.fixture(scope="session")
def quiet_servers() -> Iterator[Servers]:
    """Servers that a test may take away, and whose outbox no gateway sweeps."""
    with data_folder() as data_dir:
        running = start_servers(data_dir)
        yield running
        running.stop()


# Turns that a real runner answers


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel.started() as running:
        yield running


@pytest.fixture(scope="module")
def runner(servers: Servers, model: ScriptedModel) -> Iterator[Any]:
    env = {"OPENAI_BASE_URL": model.url, "RETINUE_MODEL": "openai/scripted", "RETINUE_MODEL_RETRY_PAUSE": "0.05"}
    with runner_on(servers, env) as process:
        yield process


@pytest.fixture
async def door(servers: Servers, runner: Any) -> AsyncIterator[Door]:
    opened = await Door.opened(servers)
    yield opened
    await opened.close()


# Turns that a test writes by hand (tests/kit/writer.py), and who watches them; `person` is the module's


@pytest.fixture
async def store(servers: Servers) -> AsyncIterator[Store]:
    store = Store(servers.role_url("turn_runner"), servers.role_url("turn_runner_system"), pool_size=4)
    yield store
    await store.dispose()


@pytest.fixture
async def bus(servers: Servers) -> AsyncIterator[Client]:
    client = await connect(servers.nats_url(), "test writer")
    yield client
    await client.close()


@pytest.fixture
async def client(gateway: Gateway, person: Person) -> AsyncIterator[TurnClient]:
    async with TurnClient(gateway.url, person.token) as client:
        yield client
