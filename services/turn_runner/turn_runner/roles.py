"""Which model does which work: the answer of a turn (`chat`), and small things beside it (`cheap`).

The order for an answer: the deployment's override, the thread, the agent, the user's own default, the deployment's,
else a default of the first provider that is there, else the demo. A turn that goes on after a takeover keeps the model
that it had. Aliases (`~gpt-latest`) become concrete here, so that rows and ledger name what was really asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from llm import NotConfigured, demo
from llm.provider import Provider, named

Source = Literal["override", "turn", "thread", "agent", "user", "deployment", "default"]


class Known(Protocol):
    """The part of `llm.catalogue.Catalogue` that is asked here; none of it waits for anybody."""

    def resolve_alias(self, model_id: str, providers: Sequence[Provider]) -> str: ...

    def default(self, provider: Provider, role: Literal["chat", "cheap"] = "chat") -> str | None: ...


class Wishes(Protocol):
    """Settings of the deployment."""

    @property
    def model(self) -> str | None: ...
    @property
    def model_cheap(self) -> str | None: ...
    @property
    def model_override(self) -> str | None: ...


class Choices(Protocol):
    """What thread, agent and user have chosen: a `store.repositories.transcripts.AgentProfile`."""

    @property
    def model(self) -> str | None: ...
    @property
    def effort(self) -> str | None: ...
    @property
    def fallback_models(self) -> Sequence[str]: ...
    @property
    def thread_model(self) -> str | None: ...
    @property
    def thread_effort(self) -> str | None: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who is asked first, who next, and how hard they shall think; ids are concrete where their provider is there."""

    model_id: str
    source: Source
    effort: str | None = None
    fallbacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Roles:
    """Settings, the providers that serve a user, and what knows of models: asked for one turn, or for a page."""

    wishes: Wishes
    providers: Sequence[Provider]
    catalogue: Known

    def chat(self, choices: Choices | None, *, turn_model: str | None = None, goes_on: bool = False) -> Chosen:
        """Who answers. `turn_model` is what the turn itself names: its sender's wish, or the model that it had.

        Raises `NotConfigured` for an alias that nobody answers to, unless there are fallbacks.
        """
        wanted, source = next(self._wanted(choices, turn_model, goes_on))
        if choices is None or not choices.fallback_models:
            model_id = self.catalogue.resolve_alias(wanted, self.providers)
        else:
            model_id = self._concrete(wanted)
        if choices is None:
            return Chosen(model_id, source)
        fallbacks = (self._concrete(each) for each in choices.fallback_models) if source != "override" else ()
        others = tuple(dict.fromkeys(each for each in fallbacks if each != model_id))
        effort = choices.thread_effort or choices.effort or choices.settings.get("effort")
        return Chosen(model_id, source, str(effort) if effort else None, others)

    def cheap(self, answered_by: str) -> Chosen | None:
        """Who does small things beside an answer; none if nobody can: the demo knows no other words than its own.

        Where the deployment names one model for everything, it does these too.
        """
        if self.wishes.model_cheap:
            return Chosen(self._concrete(self.wishes.model_cheap), "deployment", "low")
        if answered_by == demo.MODEL_ID:
            return None
        provider = named(answered_by.partition("/")[0], self.providers)
        small = None
        if provider is not None and not self.wishes.model_override:
            small = self.catalogue.default(provider, "cheap")
        return Chosen(small or answered_by, "default", "low")

    def _wanted(self, choices: Choices | None, turn_model: str | None, goes_on: bool) -> Iterator[tuple[str, Source]]:
        if goes_on and turn_model:
            yield turn_model, "turn"
        if self.wishes.model_override:
            yield self.wishes.model_override, "override"
        if turn_model:
            yield turn_model, "turn"
        if choices is not None and choices.thread_model:
            yield choices.thread_model, "thread"
        if choices is not None and choices.model:
            yield choices.model, "agent"
        if choices is not None and (own := choices.settings.get("model")):
            yield str(own), "user"
        if self.wishes.model:
            yield self.wishes.model, "deployment"
        yield (self.catalogue.default(self.providers[0]) if self.providers else None) or demo.MODEL_ID, "default"

    def _concrete(self, model_id: str) -> str:
        """As it is where no provider has that family now: whoever asks for it learns so, another may be asked."""
        try:
            return self.catalogue.resolve_alias(model_id, self.providers)
        except NotConfigured:
            return model_id
