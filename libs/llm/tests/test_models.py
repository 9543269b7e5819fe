"""Which model answers, and what is said when none can."""

import pytest

from llm import Models, ModelSettings, NotConfigured


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


def test_settings_do_not_show_the_key():
    assert "secret" not in repr(ModelSettings.from_environment({"OPENAI_API_KEY": "secret"}))
