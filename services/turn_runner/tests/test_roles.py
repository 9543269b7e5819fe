"""Who answers, in which order that is decided; who does small things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from llm import NotConfigured
from llm.provider import Provider
from turn_runner.roles import Roles

OPENAI = Provider("openai", "openai", key="k")
LAB = Provider("lab", "compatible", base_url="http://127.0.0.1:1/v1")


@dataclass
class Wishes:
    model: str | None = None
    model_cheap: str | None = None
    model_override: str | None = None


@dataclass
class Choices:
    model: str | None = None
    effort: str | None = None
    fallback_models: Sequence[str] = ()
    thread_model: str | None = None
    thread_effort: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)


class Catalogue:
    def resolve_alias(self, model_id: str, providers: Sequence[Provider]) -> str:
        if model_id == "~gone-latest":
            raise NotConfigured("no provider has a model of the family “gone”")
        return model_id.replace("~gpt-latest", "openai/gpt-7")

    def default(self, provider: Provider, role: Literal["chat", "cheap"] = "chat") -> str | None:
        if provider.kind == "compatible":
            return f"{provider.name}/auto" if role == "chat" else None
        return f"{provider.name}/{role}"


def roles(wishes: Wishes | None = None, *providers: Provider) -> Roles:
    return Roles(wishes or Wishes(), providers, Catalogue())


ALL = Choices("a/agent", thread_model="t/thread", settings={"model": "u/user"})


@pytest.mark.parametrize(
    ("wishes", "choices", "turn", "expected"),
    [
        (Wishes("d/deployment", None, "o/override"), ALL, "x/turn", ("o/override", "override")),
        (Wishes("d/deployment"), ALL, "x/turn", ("x/turn", "turn")),
        (Wishes("d/deployment"), ALL, None, ("t/thread", "thread")),
        (Wishes("d/deployment"), Choices("a/agent", settings={"model": "u/user"}), None, ("a/agent", "agent")),
        (Wishes("d/deployment"), Choices(settings={"model": "u/user"}), None, ("u/user", "user")),
        (Wishes("d/deployment"), Choices(), None, ("d/deployment", "deployment")),
        (Wishes(), Choices(), None, ("openai/chat", "default")),
        (Wishes(), Choices("~gpt-latest"), None, ("openai/gpt-7", "agent")),
    ],
)
def test_the_order_in_which_a_model_is_chosen(
    wishes: Wishes, choices: Choices, turn: str | None, expected: tuple[str, str]
) -> None:
    chosen = roles(wishes, OPENAI, LAB).chat(choices, turn_model=turn)
    assert (chosen.model_id, chosen.source) == expected


def test_a_turn_that_goes_on_keeps_its_model_whatever_has_been_chosen_since() -> None:
    chosen = roles(Wishes(None, None, "o/override"), OPENAI).chat(ALL, turn_model="x/turn", goes_on=True)
    assert (chosen.model_id, chosen.source) == ("x/turn", "turn")


def test_without_any_provider_the_demo_answers() -> None:
    assert roles().chat(Choices()).model_id == "demo/tour"


def test_fallbacks_are_concrete_each_once_and_none_under_an_override() -> None:
    agent = Choices("~gpt-latest", "high", ["lab/x", "openai/gpt-7", "~gpt-latest", "lab/x", "lab/y"])
    assert roles(None, OPENAI).chat(agent).fallbacks == ("lab/x", "lab/y")
    assert roles(None, OPENAI).chat(Choices("a/b", fallback_models=["~gone-latest"])).fallbacks == ("~gone-latest",)
    assert roles().chat(Choices("~gone-latest", fallback_models=["a/b"])).model_id == "~gone-latest"
    with pytest.raises(NotConfigured, match="gone"):
        roles().chat(Choices("~gone-latest"))
    assert roles(Wishes(model_override="o/o"), OPENAI).chat(agent).fallbacks == ()


def test_the_thread_s_effort_goes_before_the_agent_s_and_that_before_the_user_s() -> None:
    user = {"effort": "low"}
    assert roles().chat(Choices(effort="high", thread_effort="minimal", settings=user)).effort == "minimal"
    assert roles().chat(Choices(effort="high", settings=user)).effort == "high"
    assert roles().chat(Choices(settings=user)).effort == "low"
    assert roles().chat(Choices()).effort is None


@pytest.mark.parametrize(
    ("wishes", "answered_by", "expected"),
    [
        (Wishes(), "openai/gpt-7", "openai/cheap"),
        (Wishes(), "lab/llama", "lab/llama"),
        (Wishes(model_cheap="~gpt-latest"), "lab/llama", "openai/gpt-7"),
        (Wishes(model_override="openai/only"), "openai/only", "openai/only"),
        (Wishes(), "gone/away", "gone/away"),
        (Wishes(), "demo/tour", None),
    ],
)
def test_small_things_are_done_by_a_small_model_of_the_same_provider(
    wishes: Wishes, answered_by: str, expected: str | None
) -> None:
    chosen = roles(wishes, OPENAI, LAB).cheap(answered_by)
    assert (chosen and chosen.model_id) == expected
    assert chosen is None or chosen.effort == "low"
