"""What the readers of JSON events share: each is parsed in full, and one that makes no sense breaks the stream."""

from abc import ABC, abstractmethod
from typing import Any

import orjson

from llm.errors import ModelError, StreamBroken
from llm.events import Event, Served, Usage


class JsonReader(ABC):
    """A `Reader` (see `http_call`) whose wire says in the stream when it is over: `finished` is then set."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.usage: Usage | None = None
        self.begun = False
        self.started = False
        self.done = False
        self._finished = False

    @property
    def finished(self) -> bool:
        return self._finished

    def read(self, datas: list[bytes]) -> list[Event]:
        events: list[Event] = []
        for data in datas:
            if self.done:
                break
            try:
                self._take(orjson.loads(data), events)
            except ModelError:
                raise
            except (ValueError, TypeError, AttributeError, LookupError) as error:
                raise StreamBroken(
                    f"{self.model}: the provider sent something that does not belong into its answer",
                    reason="bad_data",
                    detail=f"{error!r} in {data[:300]!r}",
                    started=self.has_started(events),
                ) from error
            self.begun = True
        self.started = self.has_started(events)
        return events

    def has_started(self, events: list[Event]) -> bool:
        """Whether anything of the answer has come, these events included: who serves it is not yet a part of it."""
        return self.started or any(type(event) is not Served for event in events)

    def end(self) -> list[Event]:
        if not self._finished:
            raise StreamBroken(
                f"{self.model}: the provider ended the answer in the middle",
                reason="unfinished",
                detail="the stream ended cleanly, without an end of the answer",
                started=self.started,
            )
        return self._last()

    @abstractmethod
    def whole(self, answer: dict[str, Any]) -> list[Event]: ...

    @abstractmethod
    def _take(self, value: Any, events: list[Event]) -> None:
        """What one event of the wire means, in our events."""

    @abstractmethod
    def _last(self) -> list[Event]:
        """The events at the end: usage, if there is any, and the finish."""
