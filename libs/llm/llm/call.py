"""The one interface behind which every provider sits: a model makes calls, a call yields lists of events."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

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


Wire = Literal["chat", "responses", "ollama", "anthropic", "gemini", "demo"]


@dataclass(frozen=True, slots=True)
class WireAbilities:
    """What the wire can carry, whatever the model is able to.

    hosted_search: the provider can search the web while it answers.
    tool_images:   results of tools may hold images.
    context_size:  tokens that the wire itself allows the model, where it is we who decide; else None.
    effort:        an effort can be passed on.
    """

    hosted_search: bool = False
    tool_images: bool = False
    context_size: int | None = None
    effort: bool = False


class Model(ABC):
    """A model that was found and may be called. `id` is `provider/name`, `wire` the format in which it is spoken to."""

    id: str
    wire: Wire = "chat"
    abilities: WireAbilities = WireAbilities()

    @abstractmethod
    def call(self, request: Request) -> Call:
        """Prepare a call; cheap, does no I/O."""
