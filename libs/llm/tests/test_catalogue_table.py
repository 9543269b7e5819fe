"""The lists that came with us: litellm's file as it is installed, and the short one, which must agree with it."""

from dataclasses import replace
from datetime import date

import pytest

from llm import catalogue_table
from llm.catalogue_facts import ModelFacts
from llm.catalogue_table import Table, curated, listed_as, litellm_table, price
from llm.provider import Provider


@pytest.fixture(scope="module")
def table() -> Table:
    return litellm_table()


def test_litellms_file_is_where_it_was(table: Table):
    assert len(table["openai"]) > 50
    facts = table["openai"]["gpt-5-mini"]
    assert (facts.input_price, facts.cached_price, facts.output_price) == (250_000, 25_000, 2_000_000)
    assert (facts.context, facts.images, facts.tools, facts.hosted_search) == (272_000, True, True, True)
    assert facts.efforts == ("minimal", "low", "medium", "high")
    assert facts.retires == date(2026, 12, 11)
    long = table["gemini"]["gemini-2.5-pro"].long
    assert long is not None
    assert (long.above, long.input, long.output) == (200_000, 2_500_000, 15_000_000)


def test_gemini_searches_beside_tools_from_its_third_version_on(table: Table):
    assert not table["gemini"]["gemini-2.5-flash"].hosted_search
    assert table["gemini"]["gemini-3-flash-preview"].hosted_search


def test_a_price_of_nothing_is_unknown(table: Table):
    assert table["gemini"]["gemma-3-27b-it"].input_price is None


def test_the_short_list_agrees_with_litellms(table: Table):
    ours, defaults = curated()
    for maker, models in ours.items():
        for name, facts in models.items():
            theirs = table[maker][name]
            assert _of_both(facts) == _of_both(theirs), name
    for kind in ("openai", "anthropic", "gemini"):
        for role in ("chat", "cheap"):
            assert all(name in table[kind] for name in defaults[kind][role])
            assert defaults[kind]["chat"][0] in ours[kind]


def test_nothing_but_a_warning_without_litellm(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setattr(catalogue_table, "LITELLM_LIST", "moved.json")
    assert litellm_table() == {}
    assert "cannot be read" in caplog.text


def test_prices_belong_to_an_address():
    assert listed_as(Provider("openai", "openai")) == "openai"
    assert listed_as(Provider("mine", "compatible", base_url="https://api.groq.com/openai/v1")) == "groq"
    assert listed_as(Provider("openai", "openai", base_url="http://127.0.0.1:1/v1")) is None
    assert listed_as(Provider("ollama", "ollama")) is None


def test_prices_in_millionths_for_a_million():
    assert price("0.00000025") == 250_000
    assert price(2e-06) == 2_000_000
    assert [price(odd) for odd in ("-1", None, "free", {})] == [None] * 4


def _of_both(facts: ModelFacts) -> ModelFacts:
    return replace(facts, source="none", retires=None)
