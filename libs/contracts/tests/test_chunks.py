"""The makers keep our habits, and the rules let through exactly what both SDKs understand."""

import pytest

from contracts import chunks

MADE = [
    chunks.start("m", {"retinue": {"turn": "t"}}),
    chunks.message_metadata({"usage": 1}),
    chunks.start_step(),
    chunks.finish_step(),
    chunks.finish("stop"),
    chunks.finish(),
    chunks.abort(),
    chunks.error("gone"),
    chunks.text_start("p"),
    chunks.text_delta("p", ""),
    chunks.text_end("p", {"openai": {"id": "x"}}),
    chunks.reasoning_start("p", {"anthropic": {}}),
    chunks.reasoning_delta("p", "hm"),
    chunks.reasoning_end("p"),
    chunks.tool_input_start("c", "calculator", ours=True, title="Sum"),
    chunks.tool_input_delta("c", "{"),
    chunks.tool_input_available("c", "calculator", None, ours=True),
    chunks.tool_approval_request("c", "a"),
    chunks.tool_output_available("c", None, ours=True, preliminary=True),
    chunks.tool_output_error("c", "no", ours=False, dynamic=True),
    chunks.tool_output_denied("c"),
    chunks.source_url("s", "https://example.org", "A title"),
    chunks.source_document("s", "text/plain", "A title"),
    chunks.file("data:,x", "text/plain"),
    chunks.data("plan", {"steps": []}, "one"),
    chunks.superseded(2, 7, ["p"]),
]

REFUSED = [
    ({}, "needs a type"),
    ({"type": "reset-step"}, "not a chunk type"),
    ({"type": "custom", "kind": "a.b"}, "not a chunk type"),
    ({"type": "data-"}, "not a chunk type"),
    ({"type": "data-plan"}, "data is missing"),
    ({"type": "start"}, "messageId is missing"),
    ({"type": "text-start", "id": "p"}, "providerMetadata is missing"),
    ({"type": "text-start", "id": "p", "providerMetadata": {"openai": {}}}, "providerMetadata is not part"),
    ({"type": "text-delta", "id": "p", "delta": 1}, "delta is not str"),
    ({"type": "text-end", "id": "p", "citations": []}, "unknown field citations"),
    ({"type": "tool-output-available", "toolCallId": "c"}, "output is missing"),
    ({"type": "tool-output-denied", "toolCallId": "c", "reason": "x"}, "unknown field reason"),
    ({"type": "tool-approval-request", "toolCallId": "c", "approvalId": "a", "isAutomatic": True}, "isAutomatic"),
    (
        {"type": "tool-input-error", "toolCallId": "c", "toolName": "t", "input": 1, "errorText": "x"},
        "only for dynamic",
    ),
    ({"type": "finish", "finishReason": "interrupted"}, "finishReason is not reason"),
    ({"type": "message-metadata", "messageMetadata": "x"}, "messageMetadata is not object"),
    ({"type": "data-plan", "data": [{"constructor": {"prototype": 1}}]}, "as a key"),
]


@pytest.mark.parametrize("chunk", MADE, ids=lambda chunk: chunk["type"])
def test_what_the_makers_make_may_be_sent_and_nothing_more(chunk: chunks.Chunk):
    chunks.check(chunk)
    with pytest.raises(chunks.ChunkError, match="unknown field more"):
        chunks.check({**chunk, "more": 1})


def test_the_makers_cover_the_protocol():
    assert {chunk["type"] for chunk in MADE} >= chunks.CHUNK_TYPES - {"tool-input-error"}


@pytest.mark.parametrize(("chunk", "why"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_the_sdks_do_not_share_is_refused(chunk: chunks.Chunk, why: str):
    with pytest.raises(chunks.ChunkError, match=why):
        chunks.check(chunk)


def test_a_part_is_named_where_clients_keep_it():
    assert chunks.text_start("p", {"openai": {"id": "x"}, "retinue": {"step": 2}})["providerMetadata"] == {
        "openai": {"id": "x"},
        "retinue": {"step": 2, "part": "p"},
    }


def test_calls_that_we_run_say_so_on_every_chunk():
    ours = [
        chunks.tool_input_start("c", "t", ours=True),
        chunks.tool_input_available("c", "t", {}, ours=True),
        chunks.tool_output_available("c", 1, ours=True),
        chunks.tool_output_error("c", "no", ours=True),
    ]
    assert all(chunk["providerExecuted"] is True for chunk in ours)
    assert "providerExecuted" not in chunks.tool_input_available("c", "t", {}, ours=False)
