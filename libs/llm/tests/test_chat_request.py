"""Requests on the wire."""

import orjson
import pytest

from llm import Assistant, Request, System, Tool, ToolCall, ToolResult, User
from llm.chat_request import OPENAI, encode

CONVERSATION = (
    System("Be brief."),
    User("2+2?"),
    Assistant("Let me see.", (ToolCall("call_1__thought__xyz", "calculator", '{"expression":"2+2"}'),)),
    ToolResult("call_1__thought__xyz", "4"),
    Assistant("4"),
)


def test_a_conversation():
    body = orjson.loads(encode(Request(CONVERSATION), "m"))
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert set(body) == {"model", "messages", "stream", "stream_options"}
    function = {"name": "calculator", "arguments": '{"expression":"2+2"}'}
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "2+2?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [{"id": "call_1__thought__xyz", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1__thought__xyz", "content": "4"},
        {"role": "assistant", "content": "4"},
    ]


def test_tools_and_limits():
    tool = Tool("now", "The time.", {"type": "object", "properties": {}})
    request = Request((User("x"),), (tool,), tool_choice="none", max_tokens=7, temperature=0.5)
    body = orjson.loads(encode(request, "m", dialect=OPENAI))
    assert body["tools"][0]["function"] == {"name": "now", "description": "The time.", "parameters": tool.schema}
    assert (body["tool_choice"], body["max_completion_tokens"], body["temperature"]) == ("none", 7, 0.5)
    assert "tool_choice" not in orjson.loads(encode(Request((User("x"),)), "m"))


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", "{}"),
        (" ", "{}"),
        ("{bad", '{"malformed_arguments":"{bad"}'),
        ("[1]", '{"malformed_arguments":"[1]"}'),
    ],
)
def test_malformed_arguments_do_not_break_later_calls(said: str, sent: str):
    request = Request((Assistant("", (ToolCall("a", "f", said),)), ToolResult("a", "no")))
    message = orjson.loads(encode(request, "m"))["messages"][0]
    assert message["tool_calls"][0]["function"]["arguments"] == sent
    assert message["content"] is None
