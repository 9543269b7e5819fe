"""What a model sees, printed for each channel; and that it stays the same bytes where providers cache it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest

from instructions import Block, stable_text, text_of
from llm import Assistant, Message, System, ToolCall, ToolResult, User
from store.repositories.transcripts import AgentProfile, PastCall, PastMessage, PastPart
from tests.kit.snapshot import held_to
from turn_runner.context import blocks_of, conversation, opening
from turn_runner.tools import PROFILES, offered

COMPOSITIONS = Path(__file__).parent / "compositions"
DAY = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)
ADA = AgentProfile(uuid4(), "Ada", "Keeps the household's accounts.", "Round to cents.\nNever guess.", None, 50)
PLAIN = AgentProfile(uuid4(), "Ada", "", "", None, 50)


def instructions(agent: AgentProfile, channel: str = "web", day: datetime = DAY) -> list[Block]:
    return blocks_of(agent, [tool.name for tool in offered(channel, agent.capabilities)], channel, day)


def user(text: str) -> PastMessage:
    return PastMessage(uuid4(), "user", [PastPart(0, "text", {"type": "text", "text": text})])


def assistant(*parts: PastPart) -> PastMessage:
    return PastMessage(uuid4(), "assistant", list(parts))


def text(words: str, step: int = 0) -> PastPart:
    return PastPart(step, "text", {"type": "text", "text": words})


def tool(call: PastCall, step: int = 0) -> PastPart:
    return PastPart(step, "tool", {"type": f"tool-{call.name}"}, call)


def called(provider_id: str, *, state: str = "done", output: Any = None, error: str | None = None) -> PastCall:
    return PastCall(uuid4(), provider_id, "calculator", state, {"expression": "1+1"}, output, error)


PAST = [
    user("What is 6*7, and what time is it?"),
    assistant(
        PastPart(0, "step-start", {"type": "step-start"}),
        PastPart(0, "reasoning", {"type": "reasoning", "text": "hidden thoughts"}),
        text("Let me see."),
        tool(called("call_1", output={"result": 42})),
        tool(called("call_2", error="There is no time zone 'Mars'.")),
        PastPart(1, "step-start", {"type": "step-start"}),
        text("42.", 1),
    ),
    user("Thanks! And twice that?"),
    assistant(),
]


def printed(messages: list[Message]) -> str:
    """A composition as a person reads it."""
    lines: list[str] = []
    for message in messages:
        match message:
            case System(said) | User(said):
                lines += [f"## {type(message).__name__.lower()}", "", said, ""]
            case Assistant(said, calls):
                lines += ["## assistant", ""] + ([said, ""] if said else [])
                lines += [f"calls {call.name} as {call.provider_call_id}: {call.arguments}" for call in calls]
                lines += [""] if calls else []
            case ToolResult(call_id, said):
                lines += [f"## result of {call_id}", "", said, ""]
    return "\n".join(lines)


@pytest.mark.parametrize("channel", [*PROFILES, "telegram"])
def test_the_composition_of_each_channel(channel: str) -> None:
    tools = offered(channel)
    made = printed(opening(instructions(ADA, channel), PAST))
    made += "# tools\n\n"
    for each in tools:
        schema = orjson.dumps(each.schema, option=orjson.OPT_INDENT_2).decode()
        made += f"## {each.name} ({each.tier})\n\n{each.description}\n\n```json\n{schema}\n```\n\n"
    assert ADA.name in made
    assert all(f"## {each.name} (" in made for each in tools)
    held_to(COMPOSITIONS / f"{channel}.md", made)


def test_what_is_stable_is_the_same_bytes_in_every_turn_and_only_the_hour_comes_after_it() -> None:
    early, late, next_day = DAY.replace(minute=0), DAY.replace(minute=59), DAY.replace(day=15)
    assert text_of(instructions(ADA, day=early)) == text_of(instructions(ADA, day=late))
    today, tomorrow = instructions(ADA), instructions(ADA, day=next_day)
    assert stable_text(today) == stable_text(tomorrow)
    assert text_of(tomorrow).startswith(stable_text(today) + "\n\n")
    assert text_of(today) != text_of(tomorrow)
    assert [block.name for block in today if not block.stable] == ["time"]


def test_the_time_is_told_where_the_person_is() -> None:
    at_home = replace(ADA, settings={"zone": "Asia/Tokyo"})
    assert (
        instructions(at_home)[-1].text
        == "It is Saturday, 14 March 2026, after 18:00, where the person is (Asia/Tokyo)."
    )
    lost = replace(ADA, settings={"zone": "Mars/Olympus"})
    assert instructions(lost)[-1].text == instructions(ADA)[-1].text
    assert "after 09:00" in instructions(ADA)[-1].text


def test_the_prompt_of_a_turn_is_a_prefix_of_the_next_turn_s() -> None:
    first = opening(instructions(ADA), PAST[:3])
    later = opening(instructions(ADA), [*PAST[:3], assistant(text("84.")), user("And now?")])
    assert later[: len(first)] == first


def test_what_an_agent_does_not_have_leaves_no_empty_headings() -> None:
    said = text_of(instructions(replace(PLAIN, capabilities=())))
    assert "role" not in said
    assert "Standing orders" not in said
    assert "You have no tools here" in said
    assert "\n\n\n" not in said


def test_what_a_person_wrote_is_told_to_the_letter() -> None:
    orders = "Pay $name in ${role} and $$.\n{curly} %s"
    assert orders in text_of(instructions(replace(ADA, standing_orders=orders)))


def test_a_channel_that_nobody_listed_is_offered_nothing() -> None:
    assert offered("telegram") == []
    assert [tool.name for tool in offered("web")] == ["calculator", "current_time", "web_search", "web_fetch"]


def test_an_agent_has_of_the_channel_s_tools_what_its_capabilities_name() -> None:
    assert [tool.name for tool in offered("web", ("web_fetch", "calculator", "gone"))] == ["calculator", "web_fetch"]
    assert offered("web", ()) == []


def results_follow_calls(messages: list[Message]) -> bool:
    """Whether each call is followed by its result before anybody else speaks."""
    open_calls: list[str] = []
    for message in messages:
        if isinstance(message, ToolResult):
            if message.provider_call_id not in open_calls:
                return False
            open_calls.remove(message.provider_call_id)
        elif open_calls:
            return False
        elif isinstance(message, Assistant):
            open_calls = [call.provider_call_id for call in message.calls]
    return not open_calls


@pytest.mark.parametrize(
    "call",
    [
        called("c", output={"result": 2}),
        called("c", output=None),
        called("c", error="broke"),
        called("c", state="asked"),
        called("c", state="started"),
    ],
    ids=lambda call: f"{call.state} {call.output} {call.error_text}",
)
def test_a_call_is_never_without_its_result(call: PastCall) -> None:
    told = conversation([user("?"), assistant(text("a"), tool(call), tool(called("d", output=1)), text("b", 1))])
    assert results_follow_calls(told)
    assert [type(message) for message in told] == [User, Assistant, ToolResult, ToolResult, Assistant]


def test_steps_stay_apart_and_reasoning_is_left_out() -> None:
    told = conversation(PAST)
    assert told == [
        User("What is 6*7, and what time is it?"),
        Assistant(
            "Let me see.",
            (
                ToolCall("call_1", "calculator", '{"expression":"1+1"}'),
                ToolCall("call_2", "calculator", '{"expression":"1+1"}'),
            ),
        ),
        ToolResult("call_1", '{"result":42}'),
        ToolResult("call_2", "Error: There is no time zone 'Mars'."),
        Assistant("42."),
        User("Thanks! And twice that?"),
    ]


def test_malformed_arguments_go_back_as_the_model_wrote_them() -> None:
    call = PastCall(uuid4(), "c", "calculator", "done", '{"expression": ', None, "not JSON")
    (asked, _) = conversation([assistant(tool(call))])
    assert isinstance(asked, Assistant)
    assert asked.calls[0].arguments == '{"expression": '


def test_messages_without_words_are_not_sent() -> None:
    silent = PastMessage(uuid4(), "user", [PastPart(0, "file", {"type": "file", "url": "x"})])
    thoughtful = assistant(PastPart(0, "reasoning", {"type": "reasoning", "text": "hm"}))
    assert conversation([silent, thoughtful, PastMessage(uuid4(), "system", [text("old")])]) == []
