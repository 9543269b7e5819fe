"""What a call may hold, looked up before it is made; and who is asked next when a model fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from llm import HostedSearch, Model, ModelBusy, NotConfigured, Request, RequestRefused, System, User
from llm.call import Call, WireAbilities
from llm.catalogue import ModelFacts
from llm.provider import Provider, Wants
from turn_runner.lineup import Callees, Lineup
from turn_runner.roles import Chosen
from turn_runner.settings import RunnerSettings
from turn_runner.tools import TOOLS, Tool

PLACE = HostedSearch(country="DE")
LAB = Provider("lab", "compatible", base_url="http://127.0.0.1:1/v1")
WANTED: list[Tool[Any]] = [TOOLS["calculator"], TOOLS["web_search"]]
ASKED = [System("s"), User("u")]
FACTS = ModelFacts("lab/a", "a", "lab", tools=True, stated=frozenset({"tools"}))


class Quiet(Model):
    def __init__(self, model_id: str, abilities: WireAbilities) -> None:
        self.id, self.abilities = model_id, abilities

    def call(self, request: Request) -> Call:
        raise AssertionError("nobody is called here")


class Known:
    """Models and catalogue in one: a few names, each with its facts."""

    def __init__(self, abilities: WireAbilities | None = None, **facts: ModelFacts) -> None:
        self._abilities = abilities or WireAbilities(effort=True)
        self._facts = {f"lab/{name}": replace(fact, id=f"lab/{name}") for name, fact in facts.items()}
        self.wants: list[Wants | None] = []

    def facts(self, model_id: str, provider: Provider) -> ModelFacts:
        return self._facts.get(model_id, ModelFacts(model_id, "", provider.name))

    def resolve_alias(self, model_id: str, providers: Sequence[Provider]) -> str:
        if model_id == "~gone-latest":
            raise NotConfigured("no provider has a model of the family “gone”")
        return model_id.replace("~a-latest", "lab/a")

    def resolve(self, model_id: str, *, providers: Sequence[Provider], wants: Wants | None = None) -> Model:
        self.wants.append(wants)
        if model_id not in self._facts:
            raise NotConfigured(f"there is no model {model_id}")
        return Quiet(model_id, self._abilities)


def lineup(known: Any, *fallbacks: str, effort: str | None = None, settings: RunnerSettings | None = None) -> Lineup:
    callees = Callees(known, known, settings or RunnerSettings(), [LAB])
    return Lineup(callees, Chosen("lab/a", "agent", effort, fallbacks), PLACE)


def names(request: Request) -> list[str]:
    return [tool.name for tool in request.tools]


def test_tools_are_offered_unless_the_catalogue_says_that_the_model_takes_none() -> None:
    assert names(lineup(Known(a=FACTS)).request(ASKED, WANTED[:1])) == ["calculator"]
    unknown = replace(FACTS, tools=False, stated=frozenset())
    assert names(lineup(Known(a=unknown)).request(ASKED, WANTED[:1])) == ["calculator"]
    incapable = lineup(Known(a=replace(FACTS, tools=False)))
    assert incapable.current.offer(WANTED) == []
    assert names(incapable.request(ASKED, WANTED)) == []


@pytest.mark.parametrize(
    ("hosted", "wire", "engine", "expected"),
    [
        (True, True, True, ("hosted", ["calculator"])),
        (True, True, False, ("hosted", ["calculator"])),
        (True, False, True, (None, ["calculator", "web_search"])),
        (False, True, True, (None, ["calculator", "web_search"])),
        (False, False, False, (None, ["calculator"])),
    ],
)
def test_one_search_at_most_is_in_a_request(
    hosted: bool, wire: bool, engine: bool, expected: tuple[str | None, list[str]]
) -> None:
    settings = RunnerSettings(searxng_url="http://searx.test" if engine else None)
    known = Known(WireAbilities(hosted_search=wire), a=replace(FACTS, hosted_search=hosted))
    asked = lineup(known, settings=settings)
    request = asked.request(ASKED, asked.current.offer(WANTED))
    assert (request.hosted_search, names(request)) == (PLACE if expected[0] else None, expected[1])
    assert known.wants == [Wants(hosted_search=hosted, reasoning=False)]
    assert asked.request(ASKED, []).hosted_search is None, "the last step searches no more"
    assert asked.request(ASKED, WANTED[:1]).hosted_search is None, "an agent without the capability does not search"


def test_effort_is_sent_where_catalogue_and_wire_have_it() -> None:
    able = replace(FACTS, efforts=("low", "high"))
    assert lineup(Known(a=able), effort="high").request(ASKED, []).effort == "high"
    assert lineup(Known(a=able), effort="medium").request(ASKED, []).effort == "low"
    assert lineup(Known(a=FACTS), effort="high").request(ASKED, []).effort is None
    assert lineup(Known(WireAbilities(effort=False), a=able), effort="high").request(ASKED, []).effort is None
    assert lineup(Known(a=able)).request(ASKED, []).effort is None


def test_after_a_failure_the_next_model_that_is_there_is_asked_and_stays() -> None:
    asked = lineup(Known(a=FACTS, c=FACTS), "lab/b", "lab/c", "lab/d")
    assert asked.next(ModelBusy("busy"))
    assert asked.current.id == "lab/c"
    assert not asked.next(ModelBusy("busy")), "lab/d is not there either"
    assert asked.current.id == "lab/c"


def test_an_answer_that_has_begun_is_not_begun_anew_by_another_unless_it_broke() -> None:
    asked = lineup(Known(a=FACTS, b=FACTS), "lab/b")
    assert not asked.next(RequestRefused("no", started=True))
    assert asked.next(ModelBusy("busy", started=True))


def test_a_conversation_too_long_for_one_model_goes_to_the_next_that_reads_it() -> None:
    short, long = replace(FACTS, context=10), replace(FACTS, context=1000)
    asked = lineup(Known(a=short, b=short, c=long), "lab/b", "lab/c")
    assert asked.fit([User("x" * 800)], []).messages == (User("x" * 800),)
    assert asked.current.id == "lab/c"
    with pytest.raises(RequestRefused, match=r"^The conversation is too long for lab/c, which reads 1,000 tokens\.$"):
        asked.fit([User("x" * 80_000)], [])


def test_nobody_to_ask_first_is_said_at_once() -> None:
    with pytest.raises(NotConfigured, match="lab/a"):
        lineup(Known(c=FACTS), "lab/b", "~gone-latest")


def test_a_fallback_answers_where_the_chosen_model_is_not_to_be_had() -> None:
    assert lineup(Known(b=FACTS), "~gone-latest", "lab/b").current.id == "lab/b"
