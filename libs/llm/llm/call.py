"""The one interface behind which every provider sits: a model makes calls, a call yields lists of events."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from types import TracebackType

from llm.events import Event, Usage
from llm.requests import Request


class Call(ABC):
    """One request to a model. Nothing is sent before `stream` is iterated; a call is used once.

    Cancelling the task that iterates, or `aclose`, drops the provider's connection at once.
    """

    def __init__(self) -> None:
        self.usage: Usage | None = None
        """What the provider has reported so far; after a break perhaps more than was yielded."""

    @abstractmethod
    def stream(self) -> AsyncIterator[list[Event]]:
        """Yield the events of the answer, each list holding what arrived together; raise `ModelError`."""

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of the connection. Idempotent; a call that has ended by itself needs no more than this."""

    async def __aenter__(self) -> "Call":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Model(ABC):
    """A model that was found and may be called. `id` is `provider/name`."""

    id: str

    @abstractmethod
    def call(self, request: Request) -> Call:
        """Prepare a call; cheap, does no I/O."""
