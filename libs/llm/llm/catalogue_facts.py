"""What is known of a model: its window, what it can do, what it costs; and what follows from that for one call."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from llm.events import Usage
from llm.requests import Assistant, Request

FactSource = Literal["provider", "litellm", "curated", "none"]

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""From the least to the most, in the words that providers use."""

MOST_LETTERS_A_TOKEN = 8
"""No tokenizer packs prose or code more densely; so many letters are certainly more tokens than this says."""


@dataclass(frozen=True, slots=True)
class LongPrices:
    """What a call costs, all its tokens, once its input is longer than `above` tokens; units as in `ModelFacts`."""

    above: int
    input: int
    output: int
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of one model at one provider.

    id, name, provider:  `provider/…`, the name as people read it, and the provider's name.
    context, max_output: tokens that go in and that come out at most; None is unknown.
    images, tools:       it sees images; it calls tools. What nobody has said is no for images and yes for tools, and
                         `stated` does not hold the word.
    efforts:             how hard it can be told to think, from the least to the most; empty: not at all.
    hosted_search:       the provider can search the web for it while it also calls tools.
    …_price:             millionths of a dollar for a million tokens; `search_price` for one search. None is unknown.
    source:              who says so: the provider itself, litellm's list, ours, or nobody.
    retires:             the day after which the provider no longer serves it, if that is known.
    """

    id: str
    name: str
    provider: str
    context: int | None = None
    max_output: int | None = None
    images: bool = False
    tools: bool = True
    reasoning: bool = False
    efforts: tuple[str, ...] = ()
    hosted_search: bool = False
    input_price: int | None = None
    cached_price: int | None = None
    output_price: int | None = None
    source: FactSource = "none"
    written_price: int | None = None
    search_price: int | None = None
    long: LongPrices | None = None
    retires: date | None = None
    stated: frozenset[str] = frozenset()

    def cannot(self, request: Request) -> str | None:
        """Why this model can certainly not take this request, in one sentence; None if nothing is known against it."""
        if request.tools and not self.tools and "tools" in self.stated:
            return f"{self.id} cannot call tools"
        if self.context is not None and _least_tokens(request) > self.context:
            return f"the conversation is too long for {self.id}, which reads {self.context:,} tokens"
        return None

    def effort(self, wanted: str | None) -> str | None:
        """The advertised effort that is nearest to the wanted one, rather less than more; None: send none."""
        if wanted in self.efforts:
            return wanted
        known = [effort for effort in EFFORTS if effort in self.efforts]
        if wanted not in EFFORTS or not known:
            return None
        below = [effort for effort in known if EFFORTS.index(effort) < EFFORTS.index(wanted)]
        return below[-1] if below else known[0]


def cost(facts: ModelFacts, usage: Usage) -> int | None:
    """What a call cost in millionths of a dollar: as the provider reported it, else by the prices; None is unknown.

    Cached and written tokens without a price of their own cost what input costs. Prices are those of the lists:
    discounts, free allowances and batches are nothing we know of.
    """
    if usage.cost is not None:
        return usage.cost
    input_price, cached_price, output_price = facts.input_price, facts.cached_price, facts.output_price
    if facts.long is not None and usage.input > facts.long.above:
        input_price, cached_price, output_price = facts.long.input, facts.long.cached, facts.long.output
    if input_price is None or output_price is None or (usage.searches and facts.search_price is None):
        return None
    cached_price = input_price if cached_price is None else cached_price
    written_price = input_price if facts.written_price is None else facts.written_price
    plain = max(0, usage.input - usage.cached - usage.written)
    spent = (
        plain * input_price
        + usage.cached * cached_price
        + usage.written * written_price
        + usage.output * output_price
        + usage.searches * (facts.search_price or 0) * 1_000_000
    )
    return (spent + 500_000) // 1_000_000


def _least_tokens(request: Request) -> int:
    letters = sum(len(message.text) for message in request.messages)
    for message in request.messages:
        if isinstance(message, Assistant):
            letters += sum(len(call.arguments) for call in message.calls)
    return letters // MOST_LETTERS_A_TOKEN
