"""The blocks and their order; what is stable comes first, and what a person wrote stays as it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from instructions import Block, Persona, compose, stable_text, text_of

NOON = datetime(2026, 3, 29, 12, 34, 56, tzinfo=UTC)
UNKNOWN = "It is Sunday, 29 March 2026, after 12:00 UTC; which time zone the person is in is not known."
ADA = Persona("Ada", "Keeps accounts.", "Round to cents.")


def names(blocks: list[Block]) -> list[str]:
    return [block.name for block in blocks]


def test_the_order_is_the_design_s_and_the_volatile_block_is_last() -> None:
    blocks = compose(ADA, ["calculator"], "web", NOON)
    assert names(blocks) == ["priority", "style", "identity", "capabilities", "channel", "tools", "time"]
    assert [block.stable for block in blocks] == [True] * 6 + [False]
    assert text_of(blocks).startswith(stable_text(blocks))


def test_a_channel_without_guidance_and_an_agent_without_tools_leave_no_block() -> None:
    assert names(compose(ADA, [], "routine", NOON)) == ["priority", "style", "identity", "capabilities", "time"]


def test_a_persona_may_be_a_name_alone() -> None:
    (identity,) = [block.text for block in compose(Persona("Ada"), [], "web", NOON) if block.name == "identity"]
    assert identity == "You are Ada, an agent of Retinue."


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("", UNKNOWN),
        ("Nowhere/At_All", UNKNOWN),
        ("../etc/passwd", UNKNOWN),
        ("Europe/Berlin", "It is Sunday, 29 March 2026, after 14:00, where the person is (Europe/Berlin)."),
        ("Pacific/Kiritimati", "It is Monday, 30 March 2026, after 02:00, where the person is (Pacific/Kiritimati)."),
    ],
)
def test_the_hour_is_the_person_s_also_when_the_clocks_have_changed_that_night(zone: str, said: str) -> None:
    assert compose(ADA, [], "web", NOON, zone)[-1].text == said


def test_the_moment_may_be_told_in_any_zone() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5, minutes=45)))
    assert compose(ADA, [], "web", elsewhere) == compose(ADA, [], "web", NOON)


def test_the_same_hour_is_the_same_bytes() -> None:
    assert compose(ADA, ["a"], "web", NOON) == compose(ADA, ["a"], "web", NOON + timedelta(minutes=20))
    assert compose(ADA, ["a"], "web", NOON) != compose(ADA, ["a"], "web", NOON + timedelta(hours=1))


def test_words_that_look_like_our_own_placeholders_are_nothing_special() -> None:
    orders = "Always say $name, ${tools} and $$; {never} %(this)s."
    assert orders in text_of(compose(Persona("$role", "", orders), ["calculator"], "web", NOON))
