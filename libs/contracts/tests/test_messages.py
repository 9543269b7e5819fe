"""What clients send is read as the SDK reads it: tolerant of fields, strict about kinds."""

import pytest
from pydantic import ValidationError

from contracts.messages import ToolPart, UIMessage, text_message, text_of


def user(*parts: object, **more: object) -> UIMessage:
    return UIMessage.model_validate({"id": "aB3", "role": "user", "parts": list(parts), **more})


def test_a_plain_message_and_unknown_fields():
    message = user({"type": "text", "text": "Hi", "colour": "red"}, createdAt="today", metadata={"a": [1]})
    assert message.stored_parts() == [{"type": "text", "text": "Hi"}]
    assert (message.id, message.metadata, text_of(message)) == ("aB3", {"a": [1]}, "Hi")


def test_every_kind_of_part_comes_back_as_it_was_sent():
    parts = [
        {"type": "step-start"},
        {"type": "text", "text": "Hi", "state": "done", "providerMetadata": {"retinue": {"part": "a"}}},
        {"type": "reasoning", "id": "r", "text": "hm", "state": "streaming"},
        {"type": "source-url", "sourceId": "s", "url": "https://example.org"},
        {"type": "source-document", "sourceId": "s", "mediaType": "text/plain", "title": "T"},
        {"type": "file", "mediaType": "image/png", "url": "data:,x", "filename": "x.png"},
        {"type": "data-plan", "id": "x", "data": None},
        {"type": "tool-t", "toolCallId": "c", "state": "output-available", "input": None, "output": {"a": 1}},
        {"type": "dynamic-tool", "toolName": "u", "toolCallId": "d", "state": "input-streaming", "rawInput": "{"},
    ]
    message = UIMessage.model_validate({"id": "m", "role": "assistant", "parts": parts})
    assert message.stored_parts() == parts
    assert [part.name for part in message.parts if isinstance(part, ToolPart)] == ["t", "u"]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text"},
        {"type": "text", "text": 1},
        {"type": "image", "url": "x"},
        {"text": "no type"},
        "text",
        {"type": "file", "mediaType": "a/b"},
        {"type": "dynamic-tool", "toolCallId": "c", "state": "input-available"},
        {"type": "tool-t", "toolCallId": "c", "state": "output-error"},
        {"type": "tool-t", "toolCallId": "c", "state": "approval-responded", "approval": {"id": "a"}},
        {"type": "tool-t", "toolCallId": "c", "state": "done"},
    ],
)
def test_what_is_no_part_is_refused(part: object):
    with pytest.raises(ValidationError):
        user(part)


@pytest.mark.parametrize("message", [{"role": "user", "parts": []}, {"role": "bot", "parts": []}, {"parts": []}, []])
def test_what_is_no_message_is_refused(message: object):
    with pytest.raises(ValidationError):
        UIMessage.model_validate(message)


def test_the_text_of_stored_parts_leaves_out_reasoning():
    parts = [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert text_of(parts) == "a\n\nb"
    assert text_of(text_message("Hi")) == "Hi"
