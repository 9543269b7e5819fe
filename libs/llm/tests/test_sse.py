"""The splitter: lines, endings, and reads cut anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.sse import EventTooLarge, Splitter


def split(stream: bytes, cuts: list[int] | None = None) -> list[bytes]:
    splitter, events, last = Splitter(10_000), [], 0
    for cut in [*sorted(cuts or []), len(stream)]:
        if stream[last:cut]:
            events += splitter.feed(stream[last:cut])
            last = cut
    return events + splitter.end()


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": comment\n\n:\n\ndata: a\n\n", [b"a"]),
        (b"event: x\nid: 4\nretry: 5\ndata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data: a\n\ndata: b", [b"a", b"b"]),
        (b"data: a\n\ndata: b\n", [b"a", b"b"]),
        (b"\n\n\n", []),
        (b"data\n\n", []),
        (b"", []),
    ],
)
def test_events(stream: bytes, events: list[bytes]):
    assert split(stream) == events
    assert split(stream, list(range(1, len(stream)))) == events


LINES = st.sampled_from([b"data: a", b'data: {"x":"\xc3\xa9"}', b"data:b", b": c", b"", b"", b"id: 1", b"data: "])
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(
    lines=st.lists(st.tuples(LINES, ENDS), max_size=20),
    cuts=st.lists(st.integers(0, 300), max_size=30),
)
def test_reads_make_no_difference(lines: list[tuple[bytes, bytes]], cuts: list[int]):
    stream = b"".join(line + end for line, end in lines)
    assert split(stream, [cut for cut in cuts if cut < len(stream)]) == split(stream)


def test_an_event_is_given_as_soon_as_its_line_ends_with_cr():
    splitter = Splitter(100)
    assert splitter.feed(b"data: a\r\n\r") == [b"a"]
    assert splitter.feed(b"\n") == []
    assert splitter.feed(b"data: b\r\n\r\n") == [b"b"]


def test_an_event_has_a_limit():
    with pytest.raises(EventTooLarge):
        Splitter(100).feed(b"data: " + b"x" * 200)
    splitter = Splitter(100)
    assert [splitter.feed(b"data: 0123456789\n") for _ in range(10)] == [[]] * 10
    with pytest.raises(EventTooLarge):
        splitter.feed(b"data: 0123456789\n")
