"""Our reducer against the real one of `ai` 6 and 7: the same chunks make the same message, field for field."""

import json
import random
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from contracts import chunks
from contracts.chunk_order import Order
from contracts.chunks import Chunk
from contracts.encoder import encode
from contracts.reducer import Reducer
from tests.contract.chunk_sequences import sequence
from tests.kit import javascript

SEQUENCES = 500
VERSIONS = ("6", "7")


def reduced_by_sdks(sequences: Sequence[Sequence[Chunk]]) -> list[dict[str, Any]]:
    """Per sequence: what each SDK version makes of it."""
    folder = javascript.sdks()
    lines = "".join(json.dumps(sequence) + "\n" for sequence in sequences)
    command = [javascript.node(), "reduce.mjs"]
    done = subprocess.run(command, cwd=folder, input=lines, capture_output=True, text=True, timeout=110, check=True)
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]  # not splitlines: texts may hold U+2028


def reduced(sequence: Sequence[Chunk]) -> Reducer:
    reducer = Reducer()
    for chunk in sequence:
        reducer.apply(chunk)
    return reducer


@pytest.fixture(scope="module")
def sequences() -> list[list[Chunk]]:
    return [sequence(seed) for seed in range(SEQUENCES)]


def test_the_sequences_follow_the_rules_and_cover_every_chunk(sequences: list[list[Chunk]]):
    for made in sequences:
        order = Order()
        for chunk in made:
            order.add(chunk)
    kinds = {chunk["type"] for made in sequences for chunk in made}
    assert kinds >= chunks.CHUNK_TYPES | {"data-plan", "data-progress"}


def test_the_same_message_as_in_browsers(sequences: list[list[Chunk]]):
    for made, theirs in zip(sequences, reduced_by_sdks(sequences), strict=True):
        ours = {"message": reduced(made).message}
        for version in VERSIONS:
            assert theirs[version] == ours, f"SDK {version}, {json.dumps(made)}"


def test_what_is_stored_comes_out_as_the_same_message(sequences: list[list[Chunk]]):
    messages = [json.loads(json.dumps(reduced(made).message)) for made in sequences]
    replays = [
        [chunks.start(message["id"], message.get("metadata")), *encode(message["parts"])] for message in messages
    ]
    for message, replay, theirs in zip(messages, replays, reduced_by_sdks(replays), strict=True):
        assert reduced(replay).message == message
        for version in VERSIONS:
            assert theirs[version] == {"message": message}, f"SDK {version}"


def test_every_prefix_of_a_message_is_the_same_too():
    whole = max((sequence(seed) for seed in range(60)), key=len)
    prefixes = [whole[:length] for length in range(1, len(whole) + 1)]
    growing = Reducer()
    for chunk, theirs in zip(whole, reduced_by_sdks(prefixes), strict=True):
        growing.apply(chunk)
        for version in VERSIONS:
            assert theirs[version] == {"message": growing.message}, f"SDK {version}"


@pytest.mark.parametrize(
    "wrong",
    [
        [chunks.text_delta("t", "x")],
        [chunks.text_end("t")],
        [chunks.reasoning_delta("r", "x")],
        [chunks.tool_input_delta("c", "{")],
        [chunks.tool_output_available("c", 1, ours=True)],
        [chunks.tool_output_denied("c")],
        [{"type": "reset-step"}],
    ],
    ids=lambda wrong: wrong[0]["type"],
)
def test_what_we_refuse_the_older_sdk_refuses(wrong: list[Chunk]):
    sequence = [chunks.start("m"), chunks.start_step(), *wrong]
    with pytest.raises(chunks.ChunkError):
        reduced(sequence)
    assert "error" in reduced_by_sdks([sequence])[0]["6"]


def test_a_forbidden_key_ends_a_clients_response_and_is_refused_here():
    """The SDK parses each event with its guarded JSON parser; `check` keeps such chunks off the wire."""
    with pytest.raises(chunks.ChunkError, match="__proto__"):
        chunks.check(chunks.tool_input_available("c", "t", {"a": [{"__proto__": 1}]}, ours=True))


def test_input_that_is_no_json_is_repaired_the_same():
    """Whatever a model writes: sound JSON cut anywhere, and mere noise."""
    dice = random.Random(7)
    alphabet = [
        '{"a":',
        '"',
        "\\",
        "\\u00",
        "e9",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        " ",
        "-",
        "1",
        ".5e",
        "tru",
        "e",
        "null",
    ]
    texts = ["".join(dice.choices(alphabet, k=dice.randint(1, 12))) for _ in range(1000)]
    calls = [
        [
            chunks.start("m"),
            chunks.start_step(),
            chunks.tool_input_start("c", "t", ours=True),
            chunks.tool_input_delta("c", text),
        ]
        for text in texts
    ]
    for made, theirs in zip(calls, reduced_by_sdks(calls), strict=True):
        ours = {"message": reduced(made).message}
        assert theirs["7"] == ours, made[-1]
        # SDK 6 counts a lone minus (or a space) after `[` as sound; see contracts.partial_json.
        assert theirs["6"] == ours or "[" in made[-1]["inputTextDelta"], made[-1]
