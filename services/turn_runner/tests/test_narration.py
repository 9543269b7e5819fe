"""What a model says, told as chunks: parts open and close in order, whatever order the events come in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.chunks import check
from contracts.pieces import Pieces
from contracts.reducer import Reducer
from llm import (
    Event,
    Finish,
    HostedSearchEnd,
    HostedSearchStart,
    Reasoning,
    ReasoningData,
    ReasoningDelta,
    Served,
    Source,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from turn_runner.narration import AskedCall, Narration

SHAPES = {
    "text": ([TextDelta("a"), TextDelta("b")], "start-step text-start text-delta text-delta"),
    "reasoning, then text": (
        [ReasoningDelta("r"), TextDelta("a"), Finish("stop")],
        "start-step reasoning-start reasoning-delta reasoning-end text-start text-delta text-end",
    ),
    "text between reasoning": (
        [ReasoningDelta("r"), TextDelta("a"), ReasoningDelta("s"), Finish("stop")],
        "start-step reasoning-start reasoning-delta reasoning-end text-start text-delta text-end "
        "reasoning-start reasoning-delta reasoning-end",
    ),
    "a call closes the text before it": (
        [TextDelta("a"), ToolCallStart(0, "p", "calculator"), ToolCallDelta(0, "{}"), Finish("tool_calls")],
        "start-step text-start text-delta text-end tool-input-start tool-input-delta tool-input-available",
    ),
    "text after a call": (
        [ToolCallStart(0, "p", "calculator"), ToolCallDelta(0, "{}"), TextDelta("a"), Finish("tool_calls")],
        "start-step tool-input-start tool-input-delta text-start text-delta text-end tool-input-available",
    ),
    "calls that interleave": (
        [
            ToolCallStart(0, "p", "calculator"),
            ToolCallStart(1, "q", "current_time"),
            ToolCallDelta(1, "{"),
            ToolCallDelta(0, "{}"),
            ToolCallDelta(1, "}"),
            Finish("tool_calls"),
        ],
        "start-step tool-input-start tool-input-start tool-input-delta tool-input-delta tool-input-delta "
        "tool-input-available tool-input-available",
    ),
    "a call without arguments": (
        [ToolCallStart(0, "p", "current_time"), Finish("tool_calls")],
        "start-step tool-input-start tool-input-available",
    ),
    "sealed reasoning, then more of it": (
        [ReasoningDelta("r"), ReasoningData("p", {"s": 1}), ReasoningDelta("t"), Finish("stop")],
        "start-step reasoning-start reasoning-delta reasoning-end reasoning-start reasoning-delta reasoning-end",
    ),
    "reasoning that is told in no words": (
        [ReasoningData("p", {"s": 1}), TextDelta("a"), Finish("stop")],
        "start-step reasoning-start reasoning-end text-start text-delta text-end",
    ),
    "a source does not interrupt the text": (
        [TextDelta("a"), Source("https://x.test", "X"), Source("https://x.test"), TextDelta("b"), Finish("stop")],
        "start-step text-start text-delta source-url text-delta text-end",
    ),
    "a source that is no page": ([Source("javascript:alert(1)"), Source(""), Finish("stop")], ""),
    "a search of the provider": (
        [TextDelta("a"), HostedSearchStart("s"), HostedSearchEnd("s", "q"), TextDelta("b"), Finish("stop")],
        "start-step text-start text-delta text-end tool-input-start tool-input-available tool-output-available "
        "text-start text-delta text-end",
    ),
    "a search that nobody ends": (
        [HostedSearchStart("s", "q"), Finish("stop")],
        "start-step tool-input-start tool-input-available tool-output-available",
    ),
    "an end of no search": ([HostedSearchEnd("s", "q"), Finish("stop")], ""),
    "usage and model are not told": ([Served("m", "r"), Usage(1, 0, 2, 0), Finish("stop")], ""),
    "nothing": ([Finish("stop")], ""),
}


def types(told: list[dict[str, Any]]) -> str:
    return " ".join(chunk["type"] for chunk in told)


@pytest.mark.parametrize(("events", "expected"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("together", [True, False], ids=["one read", "one by one"])
def test_parts_open_and_close_in_order(events: list[Event], expected: str, together: bool) -> None:
    narration = Narration("1.0.1")
    reads = [events] if together else [[event] for event in events]
    assert types([chunk for read in reads for chunk in narration.tell(read)]) == expected


def test_part_ids_name_epoch_step_and_try_and_count_on() -> None:
    told = Narration("3.2.1").tell([ReasoningDelta("r"), TextDelta("a"), ReasoningDelta("s")])
    starts = [chunk for chunk in told if chunk["type"].endswith("-start")]
    assert [chunk["id"] for chunk in starts] == ["3.2.1.1", "3.2.1.2", "3.2.1.3"]
    assert [chunk["providerMetadata"] for chunk in starts] == [{"retinue": {"part": c["id"]}} for c in starts]


def test_an_earlier_step_is_closed_in_the_first_words_of_the_next() -> None:
    narration = Narration("1.1.1", follows_step=True)
    assert types(narration.tell([Served("m", "")])) == ""
    assert types(narration.tell([TextDelta("a")])) == "finish-step start-step text-start text-delta"
    assert types(narration.tell([TextDelta("b")])) == "text-delta"


def test_calls_get_ids_of_ours_and_keep_the_provider_s() -> None:
    narration = Narration("1.0.1")
    told = narration.tell(
        [ToolCallStart(0, "call_0", "calculator"), ToolCallStart(1, "call_0", "calculator"), Finish("tool_calls")]
    )
    first, second = narration.calls
    assert first.id != second.id
    assert (first.provider_call_id, second.provider_call_id) == ("call_0", "call_0")
    assert {chunk["toolCallId"] for chunk in told[1:]} == {str(first.id), str(second.id)}
    assert all(chunk["providerExecuted"] for chunk in told[1:])


def test_what_was_said_is_remembered_for_the_next_step_and_the_ledger() -> None:
    narration = Narration("1.0.1")
    said = [ReasoningDelta("hm"), TextDelta("Hel"), ReasoningDelta("?"), TextDelta("lo"), Served("m-7", "r")]
    narration.tell([*said, Usage(5, 1, 7, 2, 9), Finish("length", "max_tokens")])
    assert narration.text.text() == "Hello"
    assert narration.characters == len("hmHel?lo")
    assert narration.served == Served("m-7", "r")
    assert narration.usage == Usage(5, 1, 7, 2, 9)
    assert narration.finish == Finish("length", "max_tokens")


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("", {}),
        ("  ", {}),
        (' {"a": 1} ', {"a": 1}),
        ("[1]", [1]),
        ("null", None),
        ('{"a": ', '{"a":'),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{"a": Infinity}', '{"a": Infinity}'),
        ('{"a": 1e999}', '{"a": 1e999}'),
        ('{"a": 18446744073709551616}', '{"a": 18446744073709551616}'),
        ('{"a": "\\u0000"}', '{"a": "\\u0000"}'),
        ('{"a": "\\ud83d"}', '{"a": "\\ud83d"}'),
        ('{"__proto__": {}}', '{"__proto__": {}}'),
        ("[" * 200 + "]" * 200, "[" * 200 + "]" * 200),
        ("[" * 100_000, "[" * 100_000),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_arguments_are_data_where_everybody_can_read_them_else_the_text(arguments: str, value: Any) -> None:
    assert AskedCall("p", "t", pieces=Pieces(arguments)).input == value


def test_a_nul_never_leaves_the_narration() -> None:
    narration = Narration("1.0.1")
    told = narration.tell(
        [
            TextDelta("a\x00b"),
            ReasoningDelta("\x00"),
            ToolCallStart(0, "p\x00", "t\x00"),
            ToolCallDelta(0, "\x00"),
            Served("m\x00", ""),
            Finish("tool_calls"),
        ]
    )
    assert "\\x00" not in repr(told)
    assert "\\x00" not in repr((narration.text.text(), narration.calls, narration.served))


def test_what_the_provider_wants_back_is_kept_with_its_reasoning_and_for_the_next_step() -> None:
    narration = Narration("1.0.1")
    reducer = Reducer("m")
    data = {"signature": "abc", "n": [1]}
    for chunk in narration.tell([ReasoningDelta("Hm, "), ReasoningDelta("so"), ReasoningData("wire:1:m", data)]):
        check(chunk)
        reducer.apply(chunk)
    kept = {"part": "1.0.1.1", "reasoning": {"provider": "wire:1:m", "data": data}}
    told = reducer.parts[-1]["providerMetadata"]["retinue"]
    assert told.pop("took_ms") >= 0
    assert told == kept
    assert narration.reasoning == [Reasoning("Hm, so", "wire:1:m", data)]


def test_what_cannot_be_kept_to_the_letter_is_not_kept() -> None:
    narration = Narration("1.0.1")
    assert types(narration.tell([ReasoningData("p", {"n": 2**70}), Finish("stop")])) == ""
    assert narration.reasoning == []


def test_a_search_of_the_provider_is_shown_as_a_call_and_is_none_of_ours() -> None:
    narration = Narration("1.0.1")
    told = narration.tell([HostedSearchStart("s", "early"), HostedSearchEnd("s", "late"), Finish("stop")])
    assert narration.calls == []
    (search,) = narration.searches
    assert search.input == {"query": "late"}
    assert [chunk["toolCallId"] for chunk in told[1:]] == [str(search.id)] * 3
    assert all(chunk["providerExecuted"] for chunk in told[1:])


WORDS = st.text(min_size=1, max_size=5)
EVENTS = st.lists(
    st.one_of(
        st.builds(TextDelta, WORDS),
        st.builds(ReasoningDelta, WORDS),
        st.builds(ReasoningData, WORDS, st.dictionaries(WORDS, st.integers(0, 9), max_size=1)),
        st.builds(Source, st.just("https://x.test/") | WORDS, WORDS),
        st.builds(HostedSearchStart, st.sampled_from("ab"), WORDS),
        st.builds(HostedSearchEnd, st.sampled_from("ab"), WORDS),
        st.just("call"),
        st.tuples(st.just("delta"), st.integers(0, 9), WORDS),
        st.builds(Usage, st.just(1), st.just(0), st.just(1), st.just(0)),
    ),
    max_size=30,
)


@settings(deadline=None)
@given(EVENTS, st.booleans(), st.booleans())
def test_any_order_of_events_makes_chunks_that_clients_can_build_a_message_of(
    drawn: list[Any], follows: bool, finishes: bool
) -> None:
    calls = 0
    events: list[Any] = []
    for each in drawn:
        if each == "call":
            events.append(ToolCallStart(calls, f"p{calls}", "calculator"))
            calls += 1
        elif isinstance(each, tuple):
            if calls:
                events.append(ToolCallDelta(each[1] % calls, each[2]))
        else:
            events.append(each)
    if finishes:
        events.append(Finish("stop"))
    narration = Narration("1.0.1", follows_step=follows)
    reducer = Reducer("m")
    reducer.apply({"type": "start", "messageId": "m"})
    for event in events:
        for chunk in narration.tell([event]):
            check(chunk)
            reducer.apply(chunk)
    closing: list[Any] = []
    narration.close(closing)
    narration.close_searches(closing)
    for chunk in closing:
        reducer.apply(chunk)
    texts = [part["text"] for part in reducer.parts if part["type"] == "text"]
    assert "".join(texts) == narration.text.text()
    assert all(part["state"] == "done" for part in reducer.parts if part["type"] in ("text", "reasoning"))
    if finishes:
        tools = [part for part in reducer.parts if part["type"] == "tool-calculator"]
        assert [part["input"] for part in tools] == [call.input for call in narration.calls]
