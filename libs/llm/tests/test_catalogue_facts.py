"""What follows from facts: the cost of a call, the effort to send, and what a model cannot take."""

from dataclasses import replace

import pytest

from llm import Assistant, Request, System, Tool, ToolCall, Usage, User
from llm.catalogue import LongPrices, ModelFacts, cost

FACTS = ModelFacts(
    "openai/gpt-x",
    "gpt-x",
    "openai",
    context=1000,
    input_price=2_000_000,
    cached_price=200_000,
    written_price=2_500_000,
    output_price=10_000_000,
    search_price=10_000,
    efforts=("low", "medium", "high"),
    tools=False,
    stated=frozenset({"tools"}),
)


def test_cost_by_prices():
    # 500 plain at $2, 400 cached at $0.20, 100 written at $2.50, 50 out at $10 a million: in millionths of a dollar.
    assert cost(FACTS, Usage(1000, 400, 50, 10, written=100)) == 1000 + 80 + 250 + 500
    assert cost(FACTS, Usage(1000, 400, 50, 10, written=100, searches=2)) == 1830 + 20_000
    assert cost(FACTS, Usage(0, 0, 0, 0)) == 0


def test_what_the_provider_reports_goes_before_prices():
    assert cost(FACTS, Usage(1000, 0, 50, 0, cost=7)) == 7
    assert cost(replace(FACTS, input_price=None), Usage(1000, 0, 50, 0, cost=0)) == 0


def test_an_unknown_price_is_never_guessed():
    assert cost(replace(FACTS, output_price=None), Usage(1, 0, 1, 0)) is None
    assert cost(replace(FACTS, search_price=None), Usage(1, 0, 1, 0, searches=1)) is None
    assert cost(ModelFacts("lab/x", "x", "lab"), Usage(1, 0, 1, 0)) is None


def test_tokens_without_a_price_of_their_own_cost_what_input_costs():
    assert cost(replace(FACTS, cached_price=None), Usage(1000, 1000, 0, 0)) == 2000
    assert cost(replace(FACTS, written_price=None), Usage(1000, 0, 0, 0, written=1000)) == 2000


def test_long_calls_have_prices_of_their_own():
    facts = replace(FACTS, long=LongPrices(above=1000, input=4_000_000, output=20_000_000, cached=400_000))
    assert cost(facts, Usage(1000, 0, 100, 0)) == 2000 + 1000
    assert cost(facts, Usage(1001, 1001, 100, 0)) == 400 + 2000


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [("low", "low"), ("high", "high"), ("max", "high"), ("minimal", "low"), ("ultra", None), (None, None)],
)
def test_the_nearest_advertised_effort_is_sent(wanted: str | None, sent: str | None):
    assert FACTS.effort(wanted) == sent
    assert replace(FACTS, efforts=()).effort(wanted) is None


def test_what_a_model_cannot_take():
    tool = Tool("t", "…", {"type": "object"})
    assert FACTS.cannot(Request((User("hello"),))) is None
    assert FACTS.cannot(Request((User("hello"),), (tool,))) == "openai/gpt-x cannot call tools"
    assert replace(FACTS, stated=frozenset()).cannot(Request((User("hello"),), (tool,))) is None
    said = Assistant("", (ToolCall("1", "t", "y" * 4000),))
    long = Request((System("x" * 4000), User("z" * 80), said))
    assert "too long" in (FACTS.cannot(long) or "")
    assert replace(FACTS, context=None).cannot(long) is None
