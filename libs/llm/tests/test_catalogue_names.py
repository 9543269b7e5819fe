"""Names of models: which family they are of, which of a family is the newest, and what an alias asks for."""

import pytest

from llm.catalogue_names import alias, families_like, listed_as, newest, read


@pytest.mark.parametrize(
    ("name", "family", "version"),
    [
        ("gpt-5.4-mini-2026-03-17", "gpt-mini", (5, 4)),
        ("gpt-4o", "gpt-4o", ()),
        ("gpt-4-0613", "gpt", (4,)),
        ("o3", "o", (3,)),
        ("claude-3-5-sonnet-20241022", "claude-sonnet", (3, 5)),
        ("claude-sonnet-5", "claude-sonnet", (5,)),
        ("gemini-2.5-flash-preview-09-2025", "gemini-flash", (2, 5)),
        ("meta-llama/llama-3.3-70b-instruct:free", "llama-70b-instruct-free", (3, 3)),
        ("qwen3:8b", "qwen-8b", (3,)),
    ],
)
def test_a_name_taken_apart(name: str, family: str, version: tuple[int, ...]):
    assert (read(name).family, read(name).version) == (family, version)


@pytest.mark.parametrize(
    ("asked", "newer", "older"),
    [
        ("~gpt-latest", "gpt-5.6", "gpt-5"),
        ("~claude-sonnet-latest", "claude-sonnet-4-5", "claude-3-7-sonnet-latest"),
        ("~gpt-mini-latest", "gpt-5-mini", "gpt-5-mini-2025-08-07"),
        ("~gemini-pro-latest", "gemini-3-pro", "gemini-3-pro-preview"),
        ("~gemini-pro-latest", "gemini-3.1-pro-preview", "gemini-2.5-pro"),
        ("~gemini-flash-latest", "gemini-3-flash-preview", "gemini-flash-latest"),
        ("~mistral-large-latest", "mistral-large-2512", "mistral-large-2411"),
        ("~anthropic/claude-sonnet-latest", "anthropic/claude-sonnet-5", "else/claude-sonnet-6"),
        ("~claude-sonnet-latest", "anthropic/claude-sonnet-5", "~anthropic/claude-sonnet-latest"),
    ],
)
def test_the_newest_of_a_family(asked: str, newer: str, older: str):
    wanted = alias(asked)
    assert wanted is not None
    assert newest(wanted, [older, "gpt-4o-mini", newer]) == newer
    assert newest(wanted, [newer, older]) == newer


def test_an_alias_may_stand_behind_a_provider():
    found = alias("openrouter/~anthropic/claude-haiku-latest")
    assert found is not None
    assert (found.provider, found.maker, found.family) == ("openrouter", "anthropic", "claude-haiku")
    assert [alias(text) for text in ("gpt-5", "openai/gpt-latest", "x~gpt-latest", "~gpt")] == [None] * 4


def test_a_listed_snapshot_stands_for_its_model():
    names = ["claude-haiku-4-5-20251001", "claude-sonnet-5"]
    assert listed_as("claude-haiku-4-5", names) == "claude-haiku-4-5-20251001"
    assert listed_as("claude-sonnet-5", names) == "claude-sonnet-5"
    assert listed_as("claude-opus-5", names) is None
    assert listed_as("claude-opus-5", []) == "claude-opus-5"


def test_families_to_name_to_people():
    assert families_like("gtp-mini", ["gpt-5-mini", "claude-sonnet-5", "~openai/gpt-mini-latest"]) == ["gpt-mini"]
