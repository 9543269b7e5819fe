"""What a refusal teaches about the next request."""

import pytest

from llm.quirks import Quirks, short_id


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "limit"),
        ("Unsupported value: 'temperature' does not support 0.5 with this model.", "temperature"),
        ("Unrecognized request argument supplied: reasoning_effort", "effort"),
        ('"qwen2.5:7b" does not support thinking', "effort"),
        ("Extra inputs are not permitted: stream_options", "stream_options"),
        ("property 'reasoning_content' is unsupported", "reasoning"),
        ("Your organization must be verified to generate reasoning summaries.", "summary"),
        ("Encrypted content is not supported with this model.", "encrypted"),
        ("Invalid 'messages[2].tool_calls[0].id': string too long.", "ids"),
        ("Invalid 'input[2].call_id': string too long.", "ids"),
        ("Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.", "ids"),
        ('"gemma" does not support tools', None),
        ("This model's maximum context length is 8192 tokens", None),
        ("The model `x` is unknown", None),
        ("The `reasoning_content` in the thinking mode must be passed back to the API.", None),
    ],
)
def test_a_refusal_that_names_a_part(said: str, part: str | None):
    quirks = Quirks()
    assert quirks.learn("m", 400, said) == part
    assert quirks.refused("m") == ({part} if part else set())
    assert quirks.refused("other") == set()
    # Once: if leaving it out did not help, it was something else.
    assert quirks.learn("m", 400, said) is None


def test_only_refusals_of_the_request_teach():
    assert Quirks().learn("m", 500, "temperature is not supported") is None


def test_short_ids_are_always_the_same():
    assert short_id("call_1") == short_id("call_1") != short_id("call_2")
    assert len(short_id("call_1")) == 9
    assert short_id("x" * 300).isalnum()
