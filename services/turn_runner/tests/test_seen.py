"""What the model saw: kept once for all turns that saw the same, the changing end with each of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from instructions import Persona, compose
from store.turns import PromptSeen
from turn_runner.seen import KeptPrompts, seen
from turn_runner.tools import TOOLS

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
TOOL = [TOOLS["calculator"]]


def of(moment: datetime = NOON, orders: str = "") -> PromptSeen:
    return seen(compose(Persona("Ada", "", orders), ["calculator"], "web", moment), TOOL)


def test_an_hour_later_the_hash_is_the_same_and_the_end_another() -> None:
    now, later = of(), of(NOON + timedelta(hours=1))
    assert now.hash == later.hash
    assert now.tail != later.tail
    assert [block["name"] for block in now.blocks or []] == [
        "priority", "style", "identity", "capabilities", "channel", "tools",
    ]  # fmt: skip
    assert [tool["name"] for tool in now.tools or []] == ["calculator"]


def test_other_orders_or_other_tools_are_another_prompt() -> None:
    assert of().hash != of(orders="Be kind.").hash
    assert of().hash != seen(compose(Persona("Ada"), ["calculator"], "web", NOON), []).hash


def test_what_is_kept_is_not_sent_again_to_the_same_user() -> None:
    ada, ben, prompt = uuid4(), uuid4(), of()
    kept = KeptPrompts()
    assert kept.brief(ada, prompt) == prompt
    kept.remember(ada, prompt)
    assert kept.brief(ada, prompt) == PromptSeen(prompt.hash, prompt.tail)
    assert kept.brief(ben, prompt) == prompt


def test_the_oldest_is_forgotten_first() -> None:
    user, first, second, third = uuid4(), of(orders="1"), of(orders="2"), of(orders="3")
    kept = KeptPrompts(2)
    kept.remember(user, first)
    kept.remember(user, second)
    assert kept.brief(user, first).blocks is None  # used again
    kept.remember(user, third)
    assert kept.brief(user, second).blocks is not None
    assert kept.brief(user, first).blocks is None
