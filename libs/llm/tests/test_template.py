"""The short way through a chunk: whatever a provider sends, it yields what parsing in full yields."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm import Event, ModelError, TextDelta
from llm.chat_chunks import ChunkReader
from llm.sse import Splitter
from llm.template import Template


class Never(Template):
    """Fits nothing: every chunk is parsed."""

    __slots__ = ()

    def text(self, data: bytes) -> str | None:
        return None


class Counting(Template):
    __slots__ = ("fits",)

    def __init__(self) -> None:
        super().__init__()
        self.fits = 0

    def text(self, data: bytes) -> str | None:
        found = super().text(data)
        self.fits += found is not None
        return found


def reader_with(template: Template) -> ChunkReader:
    reader = ChunkReader("openai/m")
    reader._template = template
    return reader


def outcome(reader: ChunkReader, datas: list[bytes]) -> tuple[list[Event], Any, tuple[Any, ...]]:
    """Events, error and state of reading one data after the other."""
    events: list[Event] = []
    wrong: Any = None
    try:
        for data in datas:
            events += reader.read([data])
        events += reader.end()
    except ModelError as error:
        wrong = (type(error), error.text, error.detail, error.started)
    return events, wrong, (reader.usage, reader.begun, reader.started, reader.done, reader.finished)


def chunk(content: Any = "a", **other: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": content, **other.pop("delta", {})}, "finish_reason": None}
    return {"id": "1", "model": "m", "choices": [choice | other.pop("choice", {})], **other}


TEXTS = st.text(max_size=12) | st.sampled_from(
    ['"', "\\", '","content":"', "\\u0041", "\u2028", "\0", "{}", "}]}", "😀"]
)
CALL = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}
ODD = st.one_of(
    TEXTS.map(lambda text: chunk(text, delta={"role": "assistant"})),
    TEXTS.map(lambda text: chunk(text, delta={"reasoning_content": "hm"})),
    TEXTS.map(lambda text: chunk("x", delta={"content": text, "refusal": "no"})),
    TEXTS.map(lambda text: chunk(text, delta={"tool_calls": [CALL]})),
    TEXTS.map(lambda text: chunk(text, choice={"finish_reason": "stop"})),
    TEXTS.map(lambda text: {"content": text, **chunk(text)}),
    st.integers(1, 3).map(lambda n: chunk("u", usage={"prompt_tokens": n, "completion_tokens": 1})),
    st.sampled_from(
        [chunk(None), chunk([{"type": "text", "text": "p"}]), chunk(7), {"choices": []}, {"error": {"message": "no"}}]
    ),
)
DUMPS = st.sampled_from(
    [
        lambda value: json.dumps(value, separators=(",", ":")).encode(),
        lambda value: json.dumps(value).encode(),
        lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass"),
    ]
)
RAW = st.sampled_from(
    [
        b"[DONE]",
        b"",
        b"{",
        b'{"model":"m","choices":[{"index":0,"delta":{"content":"a","content":"b"},"finish_reason":null}]}',
        b'{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}}',
        b'{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"a","x":"b"},"finish_reason":null}]}',
        b'{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"\xff"},"finish_reason":null}]}',
        b'{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"\\ud800"},"finish_reason":null}]}',
        b'{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"a" },"finish_reason":null}]}',
        b'{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"a\nb"},"finish_reason":null}]}',
    ]
)


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """Mostly the plain chunks of one provider, now and then something else, each written in one of three ways."""
    dumps = draw(DUMPS)
    plain = TEXTS.map(lambda text: dumps(chunk(text)))
    padded = st.tuples(TEXTS, TEXTS).map(lambda two: dumps(chunk(two[0], obfuscation=two[1])))
    odd = st.tuples(ODD, DUMPS).map(lambda two: two[1](two[0]))
    return draw(st.lists(st.one_of(plain, plain, plain, padded, odd, RAW), min_size=1, max_size=25))


@given(streams())
def test_events_errors_and_state_are_those_of_parsing_in_full(datas: list[bytes]) -> None:
    assert outcome(reader_with(Template()), datas) == outcome(reader_with(Never()), datas)


@given(st.lists(TEXTS.filter(bool), min_size=3, max_size=10), DUMPS)
def test_plain_chunks_are_parsed_once(texts: list[str], dumps: Any) -> None:
    counting = Counting()
    reader = reader_with(counting)
    events = [event for text in texts for event in reader.read([dumps(chunk(text))])]
    assert [event.text for event in events if type(event) is TextDelta] == texts
    # The first brings `Served` too, the second is learned from; with equal bytes around them all others fit.
    assert counting.fits == len(texts) - 2


def test_a_provider_that_pads_every_chunk_is_not_learned_from_for_ever() -> None:
    template, lessons = Template(), 0
    reader = reader_with(template)
    for number in range(30):
        padded = json.dumps(chunk("a", obfuscation="x" * number)).encode()
        lessons = template._lessons
        reader.read([padded])
    assert template._lessons == lessons == 8


@pytest.mark.parametrize("gap", [b"\n\n", b"\r\n\r\n", b"\n: note\n\n"])
@given(st.lists(st.text(max_size=8).filter(lambda text: "\n" not in text and "\r" not in text), max_size=8), st.data())
def test_one_whole_event_a_read_is_split_as_many_are(gap: bytes, texts: list[str], data: st.DataObject) -> None:
    events = [b"data: " + text.encode() + gap for text in texts]
    one_by_one, together = Splitter(1000), Splitter(1000)
    apart = [found for event in events for found in one_by_one.feed(event)] + one_by_one.end()
    assert apart == together.feed(b"".join(events)) + together.end()
