"""Which model answers, and what is said when none can."""

import subprocess
import sys

import pytest

from llm import Models, ModelSettings, NotConfigured, OllamaSettings, Provider, Wants


def models(**environment: str) -> Models:
    return Models(ModelSettings.from_environment(environment))


@pytest.mark.parametrize(
    ("environment", "default"),
    [
        ({}, "demo/tour"),
        ({"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "RETINUE_MODEL": ""}, "demo/tour"),
        ({"OPENAI_API_KEY": "k"}, "openai/gpt-5.6-terra"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "RETINUE_MODEL": "openai/llama"}, "openai/llama"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "openai/auto"),
        ({"OPENAI_BASE_URL": "https://api.openai.com/v1", "OPENAI_API_KEY": "k"}, "openai/gpt-5.6-terra"),
        ({"RETINUE_MODEL": "demo/tour", "OPENAI_API_KEY": "k"}, "demo/tour"),
    ],
)
def test_the_default(environment: dict[str, str], default: str):
    assert models(**environment).default_id() == default
    assert models(**environment).resolve().id == default


def test_a_missing_key_names_the_variable():
    with pytest.raises(NotConfigured, match="OPENAI_API_KEY"):
        models().resolve("openai/gpt-5.6-terra")
    with pytest.raises(NotConfigured, match="OPENAI_API_KEY"):
        models(RETINUE_MODEL="openai/gpt-5.6-terra").resolve()


@pytest.mark.parametrize("model_id", ["nope/x", "openai", "openai/", "demo/other", "/", "gpt-5"])
def test_an_unknown_model_names_what_there_is(model_id: str):
    with pytest.raises(NotConfigured, match="demo/tour"):
        models().resolve(model_id)
    with pytest.raises(NotConfigured, match="openai/NAME"):
        models(OPENAI_API_KEY="k").resolve(model_id)


@pytest.mark.parametrize("url", ["127.0.0.1:11434/v1", "localhost", "ftp://models.test/v1", "http://"])
def test_an_address_that_is_none_is_named(url: str):
    with pytest.raises(NotConfigured, match=r"^the address of the provider “openai” must be one such as"):
        models(OPENAI_BASE_URL=url, RETINUE_MODEL="openai/llama").resolve()


def test_names_may_have_slashes():
    assert models(OPENAI_API_KEY="k").resolve("openai/meta/llama-4").id == "openai/meta/llama-4"


EVERYBODY = {
    "OPENAI_API_KEY": "k",
    "ANTHROPIC_API_KEY": "k",
    "GEMINI_API_KEY": "k",
    "OPENROUTER_API_KEY": "k",
    "OLLAMA_BASE_URL": "http://127.0.0.1:1/v1/",
}


@pytest.mark.parametrize(
    ("model_id", "wants", "wire"),
    [
        ("openai/gpt-5.6-terra", Wants(), "chat"),
        ("openai/gpt-5.6-terra", Wants(hosted_search=True), "responses"),
        ("openai/gpt-5.6-terra", Wants(reasoning=True), "responses"),
        ("openai/gpt-5.4-pro", Wants(), "responses"),
        ("anthropic/claude-sonnet-5", Wants(), "anthropic"),
        ("gemini/gemini-3.5-flash", Wants(), "gemini"),
        ("openrouter/meta/llama-4", Wants(hosted_search=True), "chat"),
        ("ollama/qwen3:8b", Wants(), "ollama"),
        ("demo/tour", Wants(hosted_search=True), "demo"),
    ],
)
def test_each_kind_has_its_wire(model_id: str, wants: Wants, wire: str):
    model = models(**EVERYBODY).resolve(model_id, wants=wants)
    assert (model.id, model.wire) == (model_id, wire)
    assert model.abilities.hosted_search is (wire in ("responses", "anthropic", "gemini"))


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "openrouter", "ollama"])
def test_a_provider_that_is_not_set_up_names_its_variable(provider: str):
    with pytest.raises(NotConfigured, match=f"{provider.upper()}_"):
        models().resolve(f"{provider}/x")


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("ANTHROPIC_API_KEY", "anthropic/claude-sonnet-5"),
        ("GEMINI_API_KEY", "gemini/gemini-3.5-flash"),
        ("OPENROUTER_API_KEY", "openrouter/openrouter/auto"),
        ("OLLAMA_BASE_URL", "ollama/auto"),
    ],
)
def test_a_default_for_whoever_is_set_up(name: str, default: str):
    found = models(**{name: EVERYBODY[name]})
    assert found.default_id() == found.resolve().id == default


def test_a_users_own_provider_goes_before_the_deployments():
    ours = models(OPENAI_API_KEY="k")
    own = Provider("openai", "openai", key="own", is_own=True)
    lab = Provider("lab", "compatible", "http://127.0.0.1:1/v1")
    assert ours.resolve("lab/llama", providers=(own, *ours.providers, lab)).id == "lab/llama"
    assert ours.default_id((lab, own)) == "lab/auto"
    with pytest.raises(NotConfigured, match="lab"):
        ours.resolve("lab/llama")
    with pytest.raises(NotConfigured, match="lab/NAME"):
        ours.resolve("nope/x", providers=(lab,))
    keyless = Provider("openai", "openai")
    with pytest.raises(NotConfigured, match="needs a key"):
        ours.resolve("openai/x", providers=(keyless,))


def test_the_context_of_ollama_is_ours_to_choose():
    settings = ModelSettings(
        providers=(Provider("ollama", "ollama", "http://127.0.0.1:1"),), ollama=OllamaSettings(context=4096)
    )
    assert Models(settings).resolve("ollama/x").abilities.context_size == 4096


def test_who_does_not_need_litellm_does_not_wait_for_it():
    code = """
import sys
from llm import Models, ModelSettings, Wants
found = Models(ModelSettings.from_environment(%r))
for name in ("openai/x", "openrouter/x", "ollama/x", "anthropic/x", "gemini/x"):
    found.resolve(name, wants=Wants(hosted_search=True))
print(*({"litellm", "openai", "httpx", "pydantic"} & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", code % EVERYBODY], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_settings_do_not_show_the_key():
    assert "secret" not in repr(ModelSettings.from_environment({"OPENAI_API_KEY": "secret"}))
