"""The scripted model, one for all tests of this library, and calls against it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from llm import Event, Finish, Models, ModelSettings, Patience, Request, TextDelta, Tool, User
from tests.kit.model import ScriptedModel


@pytest.fixture(scope="session")
def scripted() -> Iterator[ScriptedModel]:
    with ScriptedModel.started() as model:
        yield model


@pytest.fixture
async def models(scripted: ScriptedModel) -> AsyncIterator[Models]:
    patience = Patience(connect=2, first_byte=1, silence=0.5, tail=0.2)
    models = Models(ModelSettings("openai/scripted", scripted.url, patience=patience))
    yield models
    await models.aclose()


CALCULATOR = Tool("calculator", "Computes.", {"type": "object", "properties": {"expression": {"type": "string"}}})


def ask(words: str) -> Request:
    return Request((User(words),), (CALCULATOR,))


async def answer(models: Models, words: str) -> list[Event]:
    """All events of one call."""
    events: list[Event] = []
    async with models.resolve().call(ask(words)) as call:
        async for some in call.stream():
            assert some, "a list is never empty"
            events += some
    assert isinstance(events[-1], Finish)
    assert sum(isinstance(event, Finish) for event in events) == 1
    return events


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))
