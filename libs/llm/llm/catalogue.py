"""The catalogue: which models a provider has, what is known of each, which one an alias means, and what a call cost.

Facts come from the provider's own list where it has one (kept for six hours; if it cannot be had the old one stays, and
says why), else from the list in litellm's package, else from a short one of our own. One catalogue per process:

    catalogue = Catalogue(models.connections)
    catalogue.warm(providers)                            # in the background; then nothing below waits for anybody
    model_id = catalogue.resolve_alias("~claude-sonnet-latest", providers)
    facts = catalogue.facts(model_id, provider)          # context, images, tools, efforts, prices; never any I/O
    reason = facts.cannot(request)                       # a sentence, or None
    spent = cost(facts, usage)                           # millionths of a dollar, or None for unknown
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Literal

from llm import catalogue_lists, catalogue_names, catalogue_table, demo
from llm.catalogue_facts import EFFORTS, LongPrices, ModelFacts, cost
from llm.connections import Connections
from llm.errors import ModelError, NotConfigured
from llm.provider import AUTO, DEFAULT_MODEL, Provider, named

__all__ = ["EFFORTS", "Catalogue", "Listing", "LongPrices", "ModelFacts", "cost"]

log = logging.getLogger(__name__)

FRESH = 6 * 3600.0  # seconds for which a provider's list is not asked for again
AGAIN = 60.0  # seconds until a list that could not be had is asked for again
MOST_KEPT = 500  # lists; users may have providers of their own


@dataclass(frozen=True, slots=True)
class Listing:
    """A provider's models. `error` says why the list is old or missing, `fetched_at` when it was last had."""

    models: tuple[ModelFacts, ...] = ()
    error: str | None = None
    fetched_at: datetime | None = None


@dataclass(slots=True)
class _Kept:
    listing: Listing
    by_id: Mapping[str, ModelFacts]
    due: float


class Catalogue:
    """One per process. `fresh` and `again` are seconds; `today` is there for tests of what has been retired."""

    def __init__(
        self,
        connections: Connections,
        *,
        fresh: float = FRESH,
        again: float = AGAIN,
        today: date | None = None,
    ) -> None:
        self._connections = connections
        self._fresh = fresh
        self._again = again
        self._today = today
        self._kept: dict[Provider, _Kept] = {}
        self._asking: dict[Provider, asyncio.Task[Listing]] = {}
        self._loading: asyncio.Task[None] | None = None
        self._table: catalogue_table.Table = {}
        self._curated, self._defaults = catalogue_table.curated()

    async def load(self) -> None:
        """Read litellm's list, once, in a thread. Until then facts come from providers and our own short list."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
        await asyncio.shield(self._loading)

    async def models_of(self, provider: Provider, *, force: bool = False) -> Listing:
        """The provider's models, asked for if the list is old or `force` is set; a failure is told in the listing."""
        await self.load()
        kept = self._kept.get(provider)
        now = asyncio.get_running_loop().time()
        if kept is not None and now < kept.due and not force:
            return kept.listing
        return await asyncio.shield(self._ask(provider))

    def warm(self, providers: Iterable[Provider]) -> None:
        """Ask for lists that are missing or old, without waiting. Cheap enough for every turn."""
        now = asyncio.get_running_loop().time()
        for provider in providers:
            kept = self._kept.get(provider)
            if kept is None or now >= kept.due:
                self._ask(provider)

    def facts(self, model_id: str, provider: Provider) -> ModelFacts:
        """What is known of a model now; no I/O. A name nobody has heard of yields facts with the source `none`."""
        kept = self._kept.get(provider)
        if kept is not None:
            name = model_id.partition("/")[2]
            if name == AUTO == DEFAULT_MODEL[provider.kind] and kept.listing.models:
                return replace(kept.listing.models[0], id=model_id)
            if found := kept.by_id.get(model_id):
                return found
        return self._known(model_id.removeprefix(f"{provider.name}/"), provider)

    def resolve_alias(self, model_id: str, providers: Sequence[Provider]) -> str:
        """The id that `~family-latest` (perhaps behind `provider/`) means now; any other id is returned as it is.

        Raises `NotConfigured`, saying which families there are.
        """
        wanted = catalogue_names.alias(model_id)
        if wanted is None:
            return model_id
        asked = [found for found in (named(wanted.provider, providers),) if found] if wanted.provider else providers
        for provider in asked:
            if name := catalogue_names.newest(wanted, self._names(provider)):
                return f"{provider.name}/{name}"
        names = (name for provider in asked for name in self._names(provider))
        families = catalogue_names.families_like(wanted.family, names)
        there = f"; there are {', '.join(families)}" if families else ""
        raise NotConfigured(f"no provider has a model of the family “{wanted.family}” for {model_id}{there}")

    def default(self, provider: Provider, role: Literal["chat", "cheap"] = "chat") -> str | None:
        """The model to take at this provider where nobody has chosen; None for `cheap` where the chat model will do."""
        names = self._names(provider)
        for preferred in self._defaults.get(provider.kind, {}).get(role, []):
            wanted = catalogue_names.alias(preferred)
            name = catalogue_names.newest(wanted, names) if wanted else catalogue_names.listed_as(preferred, names)
            if name:
                return f"{provider.name}/{name}"
        return provider.default_model if role == "chat" else None

    async def aclose(self) -> None:
        """End what is still being asked."""
        tasks: list[asyncio.Task[Any]] = [*self._asking.values(), *([self._loading] if self._loading else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _load(self) -> None:
        self._table = await asyncio.to_thread(catalogue_table.litellm_table)

    def _ask(self, provider: Provider) -> asyncio.Task[Listing]:
        task = self._asking.get(provider)
        if task is None:
            task = self._asking[provider] = asyncio.create_task(self._listed(provider))
            task.add_done_callback(lambda _: self._asking.pop(provider, None))
        return task

    async def _listed(self, provider: Provider) -> Listing:
        await self.load()
        loop = asyncio.get_running_loop()
        old = self._kept.get(provider)
        try:
            models = await catalogue_lists.listed(provider, self._connections, lambda name: self._known(name, provider))
            listing, due = Listing(tuple(models), None, datetime.now(UTC)), loop.time() + self._fresh
        except ModelError as error:
            log.info("%s: no list of models (%s)", provider.name, error.detail or error.text)
            before = old.listing if old else Listing()
            listing, due = replace(before, error=error.text), loop.time() + self._again
        self._kept.pop(provider, None)
        while len(self._kept) >= MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[provider] = _Kept(listing, {facts.id: facts for facts in listing.models}, due)
        return listing

    def _known(self, name: str, provider: Provider) -> ModelFacts:
        """What the lists that came with us say; prices only where it is known whose the provider's address is."""
        model_id = f"{provider.name}/{name}"
        if model_id == demo.MODEL_ID:
            return ModelFacts(model_id, name, provider.name, input_price=0, output_price=0, source="curated")
        listed_as = catalogue_table.listed_as(provider)
        for table in (self._table, self._curated):
            if listed_as and (found := table.get(listed_as, {}).get(name)):
                return replace(found, id=model_id, provider=provider.name)
        # The same model behind somebody else's address: it can what it can, but what it costs there is not known.
        bare = name.rpartition("/")[2]
        for table in (self._table, self._curated):
            for maker in catalogue_table.MAKERS:
                if found := table.get(maker, {}).get(bare):
                    return _elsewhere(found, model_id, name, provider)
        return ModelFacts(model_id, name, provider.name)

    def _names(self, provider: Provider) -> list[str]:
        """Names that the provider has: by its own list, else by the lists that came with us, without what has ended."""
        kept = self._kept.get(provider)
        if kept is not None and kept.listing.models:
            return [facts.id.removeprefix(f"{provider.name}/") for facts in kept.listing.models]
        listed_as = catalogue_table.listed_as(provider)
        today = self._today or datetime.now(UTC).date()
        for table in (self._table, self._curated):
            models: Mapping[str, ModelFacts] = table.get(listed_as or "", {})
            if models:
                return [
                    name
                    for name, facts in models.items()
                    if not (facts.retires and facts.retires < today) and not name.startswith("ft:")
                ]
        return []


def _elsewhere(found: ModelFacts, model_id: str, name: str, provider: Provider) -> ModelFacts:
    return ModelFacts(
        id=model_id,
        name=name,
        provider=provider.name,
        context=found.context,
        max_output=found.max_output,
        images=found.images,
        tools=found.tools,
        reasoning=found.reasoning,
        source=found.source,
        stated=found.stated,
    )
