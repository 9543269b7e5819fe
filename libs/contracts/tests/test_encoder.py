"""Shapes that chunks cannot build come out as the nearest; the exact inverse is tested in tests/contract."""

import pytest

from contracts.chunk_order import Order
from contracts.chunk_rules import ChunkError
from contracts.chunks import finish, finish_step, start, text_end, text_start
from contracts.encoder import encode
from contracts.reducer import Reducer

CALL = {"type": "tool-pay", "toolCallId": "c", "input": {"to": "x"}}


def again(parts: list[dict]) -> list[dict]:
    reducer = Reducer()
    for chunk in encode(parts):
        reducer.apply(chunk)
    return reducer.parts


def test_what_comes_out_keeps_the_order_of_the_protocol():
    named = {"providerMetadata": {"retinue": {"part": "a"}}, "state": "done"}
    parts = [
        {"type": "step-start"},
        {"type": "text", "text": "Hi", **named},
        {**CALL, "state": "output-available", "output": 1},
        {"type": "step-start"},
        {"type": "reasoning", "id": "a", "text": "", **named},
    ]
    order = Order()
    for chunk in [start("m"), *encode(parts), text_start("b"), text_end("b"), finish_step(), finish("stop")]:
        order.add(chunk)
    assert order.finished
    assert again(parts) == parts


def test_an_answered_approval_is_asked_again():
    answered = {**CALL, "state": "approval-responded", "approval": {"id": "a", "approved": True, "reason": "fine"}}
    assert again([answered]) == [{**CALL, "state": "approval-requested", "approval": {"id": "a"}}]


def test_text_without_a_state_is_done_and_files_lose_their_names():
    parts = [{"type": "text", "text": "Hi"}, {"type": "file", "url": "data:,x", "mediaType": "a/b", "filename": "x"}]
    assert again(parts) == [
        {"type": "text", "text": "Hi", "state": "done"},
        {"type": "file", "url": "data:,x", "mediaType": "a/b"},
    ]


def test_a_part_that_no_chunk_makes_is_refused():
    with pytest.raises(ChunkError, match="steering-message"):
        list(encode([{"type": "steering-message", "id": "x", "parts": []}]))
