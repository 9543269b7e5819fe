"""The models of one turn: who is asked, with what, and who next when that one fails.

What a call may hold is looked up before it is made: tools only for a model that is not known to take none, an effort
that the catalogue lists, the provider's own search where model and wire have it. No I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chassis import logs
from llm import HostedSearch, Message, Model, ModelError, Models, NotConfigured, Provider, Request, RequestRefused
from llm import Tool as LlmTool
from llm.call import WireAbilities
from llm.catalogue import Catalogue, ModelFacts
from llm.provider import Wants, named
from turn_runner.roles import Chosen
from turn_runner.search import means
from turn_runner.settings import RunnerSettings
from turn_runner.tools import Tool

log = logs.get(__name__)

SEARCH = "web_search"


@dataclass(frozen=True, slots=True)
class Callee:
    """A model as it is asked here."""

    model: Model
    facts: ModelFacts
    effort: str | None
    search: means.Means | None

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def takes_tools(self) -> bool:
        """What nobody has said is yes."""
        return self.facts.tools or "tools" not in self.facts.stated

    def offer(self, wanted: Sequence[Tool[Any]]) -> list[Tool[Any]]:
        """Those of the wanted tools that this model can have, its provider's own search among them."""
        return [tool for tool in wanted if self._has(tool.name)]

    def request(self, messages: Sequence[Message], offer: Sequence[Tool[Any]], place: HostedSearch) -> Request:
        """A provider's own search stands in the request by itself; all else of the offer is called by us."""
        tools = self.offer(offer)
        searches_itself = self.search == "hosted" and any(tool.name == SEARCH for tool in tools)
        ours = [tool for tool in tools if not (tool.name == SEARCH and searches_itself)]
        return Request(
            tuple(messages),
            tuple(LlmTool(tool.name, tool.description, tool.schema) for tool in ours),
            effort=self.effort,
            hosted_search=place if searches_itself else None,
        )

    def _has(self, tool: str) -> bool:
        if tool == SEARCH:
            return self.search == "hosted" or (self.search == "tool" and self.takes_tools)
        return self.takes_tools


@dataclass(frozen=True, slots=True)
class Callees:
    """Makes callees of ids, with the providers that serve a user."""

    models: Models
    catalogue: Catalogue
    settings: RunnerSettings
    providers: Sequence[Provider]

    def of(self, model_id: str, effort: str | None) -> Callee:
        """Raises `NotConfigured`."""
        model_id = self.catalogue.resolve_alias(model_id, self.providers)
        provider = named(model_id.partition("/")[0], self.providers)
        facts = self.catalogue.facts(model_id, provider) if provider else _facts_of_nobody(model_id)
        wants = Wants(hosted_search=means.wants_hosted(facts, self.settings), reasoning=facts.reasoning)
        model = self.models.resolve(model_id, providers=self.providers, wants=wants)
        abilities: WireAbilities = model.abilities
        search = means.search_means(facts, abilities, self.settings)
        return Callee(model, facts, facts.effort(effort) if abilities.effort else None, search)


class Lineup:
    """The chosen model and those to ask next; whoever has once answered stays for the rest of the turn."""

    def __init__(self, callees: Callees, chosen: Chosen, place: HostedSearch) -> None:
        """Raises `NotConfigured`, about the chosen model, if neither that nor a fallback can be asked."""
        self.chosen = chosen
        self.place = place
        self._callees = callees
        self._left = list(chosen.fallbacks)
        try:
            self.current = callees.of(chosen.model_id, chosen.effort)
        except NotConfigured as missing:
            if not self.next(missing):
                raise
            log.warning("the chosen model cannot be asked", model=chosen.model_id, reason=missing.text)

    def request(self, messages: Sequence[Message], offer: Sequence[Tool[Any]]) -> Request:
        return self.current.request(messages, offer, self.place)

    def fit(self, messages: Sequence[Message], offer: Sequence[Tool[Any]]) -> Request:
        """The request for the first model that can take it. Raises `RequestRefused` if none can."""
        while (why := self.current.facts.cannot(request := self.request(messages, offer))) is not None:
            wrong = RequestRefused(f"{why[:1].upper()}{why[1:]}.")
            log.info("a model cannot take this request", model=self.current.id, reason=why)
            if not self.next(wrong):
                raise wrong
        return request

    def next(self, wrong: ModelError) -> bool:
        """Goes on to the next model after a failure; False if there is none, or another one would not help."""
        if wrong.started and not wrong.retryable:
            return False
        while self._left:
            model_id = self._left.pop(0)
            try:
                self.current = self._callees.of(model_id, self.chosen.effort)
            except NotConfigured as missing:
                log.warning("a fallback model cannot be asked", model=model_id, reason=missing.text)
                continue
            return True
        return False


def _facts_of_nobody(model_id: str) -> ModelFacts:
    """Of the demo, which has no provider: it costs nothing."""
    provider, _, name = model_id.partition("/")
    return ModelFacts(model_id, name, provider, input_price=0, output_price=0)
