"""Our request in litellm's words: what goes back to whom, and what is left out where it would be refused."""

from typing import Any

from llm import Assistant, Request, System, Tool, ToolCall, ToolResult, User
from llm.litellm_request import arguments
from llm.requests import HostedSearch, Reasoning

TOOL = Tool("t", "…", {"type": "object", "properties": {}})
MINE = "anthropic:abc:anthropic/claude"


def asked(*messages: Any, kind: str = "anthropic", name: str = "claude-haiku-4-5", **fields: Any) -> dict[str, Any]:
    return arguments(Request(tuple(messages), (TOOL,), **fields), kind, name, MINE)


def step(*reasoning: Reasoning) -> tuple[Assistant, ToolResult]:
    return Assistant("", (ToolCall("toolu_1", "t", "{}"),), reasoning), ToolResult("toolu_1", "ok")


def test_anthropic_caches_what_is_marked():
    said = asked(System("stable"), System("volatile"), User("hello"))
    assert said["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert said["messages"][1] == {"role": "system", "content": "volatile"}
    assert said["cache_control"] == {"type": "ephemeral"}


def test_signed_thoughts_go_back_word_for_word_or_not_at_all():
    kept = Reasoning("I think.", MINE, {"signature": "sig", "length": 8})
    foreign = Reasoning("He thinks.", "gemini:abc:gemini/x", {"signature": "other", "length": 10})
    shortened = Reasoning("I thi", MINE, {"signature": "cut", "length": 8})
    hidden = Reasoning("", MINE, {"redacted": "sealed"})
    said = asked(User("hello"), *step(kept, foreign, shortened, hidden))["messages"][1]
    assert said["thinking_blocks"] == [
        {"type": "thinking", "thinking": "I think.", "signature": "sig"},
        {"type": "redacted_thinking", "data": "sealed"},
    ]


def test_anthropic_is_told_no_effort_where_it_would_refuse():
    thought = Reasoning("I think.", MINE, {"signature": "sig", "length": 8})
    assert asked(User("hello"), effort="low")["reasoning_effort"] == "low"
    assert asked(User("hello"), *step(thought), effort="low")["reasoning_effort"] == "low"
    # A turn whose earlier step was another model's, and a call that is forced.
    assert "reasoning_effort" not in asked(User("hello"), *step(), effort="low")
    assert "reasoning_effort" not in asked(User("hello"), effort="low", tool_choice="required")
    # A step of an earlier turn does not matter, nor does any to models that decide at each step.
    assert "reasoning_effort" in asked(User("hello"), *step(), User("again"), effort="low")
    assert "reasoning_effort" in asked(User("hello"), *step(), name="claude-sonnet-5", effort="low")


def test_geminis_signatures_go_back_to_their_calls():
    call = Reasoning("", MINE, {"call": "toolu_1", "signature": "of-call"})
    text = Reasoning("", MINE, {"signature": "of-text"})
    searched = Reasoning("", MINE, {"invocations": [{"id": "1"}]})
    said = asked(User("hello"), *step(call, text, searched), kind="gemini")["messages"][1]
    assert said["tool_calls"][0]["provider_specific_fields"] == {"thought_signature": "of-call"}
    fields = said["provider_specific_fields"]
    assert fields == {"thought_signatures": ["of-text"], "server_side_tool_invocations": [{"id": "1"}]}


def test_gemini_searches_beside_tools():
    said = asked(User("hello"), kind="gemini", name="gemini-3-flash", hosted_search=HostedSearch())
    assert (said["web_search_options"], said["include_server_side_tool_invocations"]) == ({}, True)
    assert "web_search_options" not in asked(User("hello"), kind="gemini")


def test_an_empty_step_and_malformed_arguments():
    broken = Assistant("", (ToolCall("toolu_1", "t", '{"a": '),))
    said = asked(User("hello"), Assistant(), broken, ToolResult("toolu_1", "malformed"))["messages"]
    assert [message["role"] for message in said] == ["user", "assistant", "tool"]
    assert said[1]["tool_calls"][0]["function"]["arguments"] == '{"malformed_arguments":"{\\"a\\": "}'


def test_bounds():
    said = asked(User("hello"), max_tokens=100, temperature=0.5, tool_choice="none")
    assert (said["max_tokens"], said["temperature"], said["tool_choice"]) == (100, 0.5, "none")
    assert "temperature" not in asked(User("hello"), temperature=0.5, effort="low")


def test_anthropics_own_searches_go_back_within_the_turn_only():
    found = {"server_tool_calls": [{"id": "srvtoolu_1"}], "web_search_results": [{"tool_use_id": "srvtoolu_1"}]}
    thought = Reasoning("I think.", MINE, {"signature": "sig", "length": 8})
    searched = Reasoning("", MINE, {"server": found})
    said = asked(User("hello"), *step(thought, searched))["messages"][1]
    assert said["provider_specific_fields"] == found
    earlier = asked(User("hello"), *step(thought, searched), User("again"))["messages"][1]
    assert not {"provider_specific_fields", "thinking_blocks"} & set(earlier)


def test_a_place_is_told_as_far_as_it_is_known():
    said = asked(User("hello"), hosted_search=HostedSearch(country="DE", city="Köln"))["web_search_options"]
    assert said["user_location"] == {"type": "approximate", "approximate": {"country": "DE", "city": "Köln"}}
    assert "user_location" not in asked(User("hello"), hosted_search=HostedSearch())["web_search_options"]
