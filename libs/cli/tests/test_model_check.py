"""What is wrong with the default model is said when the stack starts, not by the first turn."""

import asyncio

import pytest

from cli.up import model_check
from cli.up.doctor import examine
from cli.up.report import Report
from cli.up.settings import load_settings


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("RETINUE_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"RETINUE_MODEL": "antrophic/claude"}, "there is no model “antrophic/claude”"),
        ({"RETINUE_MODEL": "gpt-5", "OPENAI_API_KEY": "k"}, "use openai/NAME"),
        ({"RETINUE_MODEL": "openai/gpt-5.6-terra"}, "set OPENAI_API_KEY"),
        ({"OPENAI_BASE_URL": "127.0.0.1:11434"}, "address of the provider “openai” must be"),
    ],
)
def test_a_model_that_cannot_be_asked_is_said_by_name(
    environment: pytest.MonkeyPatch, given: dict[str, str], said: str
) -> None:
    for name, value in given.items():
        environment.setenv(name, value)
    warning = asyncio.run(model_check.warning())
    assert warning is not None
    assert said in warning
    assert warning == model_check.fault_of(given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"RETINUE_MODEL": "demo/tour"},
        {"RETINUE_MODEL": "~gpt-latest", "OPENAI_API_KEY": "k"},
        {"RETINUE_MODEL": "openai/~gpt-mini-latest", "OPENAI_API_KEY": "k"},
        {"OPENAI_API_KEY": "k"},
        {"RETINUE_MODEL": "openai/llama", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"},
    ],
)
def test_what_can_be_asked_is_not_warned_of(environment: pytest.MonkeyPatch, given: dict[str, str]) -> None:
    for name, value in given.items():
        environment.setenv(name, value)
    assert asyncio.run(model_check.warning()) is None


def test_the_doctor_says_it_too(environment: pytest.MonkeyPatch, tmp_path) -> None:
    def model():
        found = examine(tmp_path / "none", load_settings())
        return next(finding for finding in found if finding.check == "model")

    assert (model().ok, model().detail) == (True, "demo/tour answers by default")
    environment.setenv("OPENAI_API_KEY", "k")  # which of its models is known when it has listed them
    assert (model().ok, model().detail) == (True, "a model of openai answers by default; the page says which")
    environment.setenv("RETINUE_MODEL", "nope/x")
    assert not model().ok
    assert "nope/x" in model().detail


def test_the_warning_stands_behind_the_ready_line(capsys: pytest.CaptureFixture[str]) -> None:
    Report().ready("http://127.0.0.1:8700", "RETINUE_MODEL: there is no such model")
    shown = capsys.readouterr()
    assert shown.out == "Retinue is ready: http://127.0.0.1:8700\n"
    assert shown.err == "Warning: RETINUE_MODEL: there is no such model.\n"
