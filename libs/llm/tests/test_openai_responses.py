"""OpenAI's Responses wire: events into ours, our request into its items."""

from typing import Any

import orjson
import pytest

from llm import (
    Assistant,
    Event,
    Finish,
    HostedSearch,
    HostedSearchEnd,
    HostedSearchStart,
    KeyRefused,
    Message,
    ModelBusy,
    Reasoning,
    ReasoningData,
    ReasoningDelta,
    Request,
    RequestRefused,
    Served,
    Source,
    StreamBroken,
    System,
    TextDelta,
    Tool,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolResult,
    Usage,
    User,
)
from llm.openai_responses_events import ResponsesReader
from llm.openai_responses_request import encode

TOOL = Tool("f", "F.", {"type": "object"})


def read(*events: dict[str, Any]) -> list[Event]:
    reader = ResponsesReader("openai/m", "ours")
    return reader.read([orjson.dumps(event) for event in events]) + reader.end()


def item(kind: str, at: int, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    begun = {"id": f"{kind}_{at}", "type": kind}
    return (
        {"type": "response.output_item.added", "output_index": at, "item": begun},
        {"type": "response.output_item.done", "output_index": at, "item": {**begun, **fields}},
    )


DONE = {"type": "response.completed", "response": {"status": "completed"}}


def test_an_answer_with_all_there_is():
    thinks, thought = item("reasoning", 0, encrypted_content="sealed", summary=[], status=None)
    searches, searched = item("web_search_call", 1, action={"type": "search", "query": "rain"}, status="completed")
    summary = {"type": "response.reasoning_summary_text.delta", "item_id": "reasoning_0"}
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    events = read(
        {"type": "response.created", "response": {"id": "r1", "model": "m-2026"}},
        {"type": "response.something.new", "field": 1},
        thinks,
        {**summary, "summary_index": 0, "delta": "First."},
        {**summary, "summary_index": 1, "delta": "Then."},
        thought,
        searches,
        searched,
        {"type": "response.output_text.delta", "delta": "Rain."},
        {
            "type": "response.output_text.annotation.added",
            "annotation": {"type": "url_citation", "url": "https://a.test/", "title": "A"},
        },
        {
            "type": "response.output_text.annotation.added",
            "annotation": {"type": "url_citation", "url": "https://a.test/", "title": "A again"},
        },
        {"type": "response.completed", "response": {"status": "completed", "usage": usage}},
    )
    assert events == [
        Served("m-2026", "r1"),
        ReasoningDelta("First."),
        ReasoningDelta("\n\nThen."),
        ReasoningData("ours", {"item": _kept(thought), "calls": 0, "said": False}),
        HostedSearchStart("web_search_call_1", ""),
        HostedSearchEnd("web_search_call_1", "rain"),
        ReasoningData("ours", {"item": _kept(searched), "calls": 0, "said": False}),
        TextDelta("Rain."),
        Source("https://a.test/", "A"),
        Usage(9, 4, 5, 2, searches=1),
        Finish("stop", "completed"),
    ]


def _kept(done: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in done["item"].items() if value is not None}


@pytest.mark.parametrize("with_fragments", [True, False])
def test_calls_in_fragments_or_whole(with_fragments: bool):
    begins, ends = item("function_call", 3, call_id="c1", name="f", arguments='{"a":1}')
    begins["item"] |= {"call_id": "c1", "name": "f", "arguments": ""}
    delta = {"type": "response.function_call_arguments.delta", "output_index": 3}
    pieces = [{**delta, "delta": '{"a"'}, {**delta, "delta": ":1}"}] if with_fragments else []
    events = read(begins, *pieces, ends, DONE)
    assert events[0] == ToolCallStart(0, "c1", "f")
    assert "".join(event.arguments for event in events if isinstance(event, ToolCallDelta)) == '{"a":1}'
    assert events[-1] == Finish("tool_calls", "completed")


@pytest.mark.parametrize(("why", "reason"), [("max_output_tokens", "length"), ("content_filter", "content_filter")])
def test_an_answer_that_was_cut_short(why: str, reason: str):
    response = {"status": "incomplete", "incomplete_details": {"reason": why}}
    assert read({"type": "response.incomplete", "response": response})[-1] == Finish(reason, why)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}, ModelBusy),
        ({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "no"}}}, ModelBusy),
        (
            {"type": "response.failed", "response": {"error": {"code": "context_length_exceeded", "message": "no"}}},
            RequestRefused,
        ),
        ({"type": "error", "code": "insufficient_quota", "message": "You exceeded your quota"}, KeyRefused),
        ({"no": "type"}, StreamBroken),
        ({"type": "response.output_text.delta"}, StreamBroken),
    ],
)
def test_what_goes_wrong(event: dict[str, Any], kind: type[Exception]):
    with pytest.raises(kind) as raised:
        read({"type": "response.output_text.delta", "delta": "x"}, event)
    assert raised.value.started  # type: ignore[attr-defined]


def test_an_end_without_a_completion_is_a_break():
    with pytest.raises(StreamBroken) as raised:
        read({"type": "response.output_text.delta", "delta": "x"})
    assert raised.value.reason == "unfinished"


def body_of(*messages: Message, name: str = "gpt-5.6-terra", **more: Any) -> dict[str, Any]:
    return orjson.loads(encode(Request(messages, (TOOL,), **more), name, origin="ours"))


def test_items_go_back_before_what_they_stood_before():
    def kept(name: str, calls: int, *, said: bool) -> Reasoning:
        return Reasoning("", "ours", {"item": {"id": name}, "calls": calls, "said": said})

    thoughts = (kept("a", 0, said=False), kept("b", 0, said=True), kept("c", 1, said=True))
    foreign = Reasoning("hm", "theirs", {"signature": "x"})
    step = Assistant("Hm.", (ToolCall("1", "f", "{}"), ToolCall("2", "f", "{bad")), (*thoughts, foreign))
    before = Assistant("Earlier.", (), thoughts)
    body = body_of(System("S"), before, User("U"), step, ToolResult("1", "one"), ToolResult("2", "two"))
    call = {"type": "function_call", "name": "f"}
    assert body["input"] == [
        {"role": "system", "content": "S"},
        {"role": "assistant", "content": "Earlier."},
        {"role": "user", "content": "U"},
        {"id": "a"},
        {"role": "assistant", "content": "Hm."},
        {"id": "b"},
        {**call, "call_id": "1", "arguments": "{}"},
        {"id": "c"},
        {**call, "call_id": "2", "arguments": '{"malformed_arguments":"{bad"}'},
        {"type": "function_call_output", "call_id": "1", "output": "one"},
        {"type": "function_call_output", "call_id": "2", "output": "two"},
    ]
    assert (body["store"], body["stream"]) == (False, True)


def test_a_place_is_told_only_as_far_as_it_may_be():
    searched = body_of(User("U"), hosted_search=HostedSearch(city="Bonn"))["tools"]
    assert searched[1] == {"type": "web_search", "user_location": {"type": "approximate", "city": "Bonn"}}
    assert body_of(User("U"), hosted_search=HostedSearch())["tools"][1] == {"type": "web_search"}
    assert len(body_of(User("U"))["tools"]) == 1


def test_only_models_that_reason_are_asked_for_it():
    thinking = body_of(User("U"), effort="high")
    assert thinking["reasoning"] == {"effort": "high", "summary": "auto"}
    assert thinking["include"] == ["reasoning.encrypted_content"]
    plain = body_of(User("U"), name="gpt-4.1")
    assert "reasoning" not in plain
    assert "include" not in plain
