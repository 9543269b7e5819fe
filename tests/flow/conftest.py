"""What every story stands on: the scripted model, the town in memory, and a look at the rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.kit.model import ScriptedModel
from tests.kit.stack import Servers
from tests.kit.town import Town, town_on
from tests.kit.turns import Database


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel.started() as running:
        yield running


@pytest.fixture(scope="module")
async def town(servers: Servers, model: ScriptedModel) -> AsyncIterator[Town]:
    async with town_on(servers, model.url) as opened:
        yield opened


@pytest.fixture(scope="module")
async def database(servers: Servers) -> AsyncIterator[Database]:
    async with Database.opened(servers) as opened:
        yield opened
