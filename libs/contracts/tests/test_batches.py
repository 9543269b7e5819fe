import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.batches import END, BatchId, pack, unpack

ids = st.builds(BatchId, st.integers(0, 0xFFFF), st.integers(0, 0xFFFF_FFFF))


@given(ids, ids, st.binary(max_size=200), st.sampled_from([0, END]))
def test_what_is_packed_comes_back(id: BatchId, cut: BatchId, body: bytes, flags: int) -> None:
    batch = unpack(pack(id, cut, body, flags))
    assert (batch.id, batch.cut, batch.body, batch.is_end) == (id, cut, body, flags == END)


def test_the_header_is_sixteen_bytes() -> None:
    assert len(pack(BatchId(1, 2), BatchId(0, 0), b"")) == 16


@pytest.mark.parametrize("text", ["", "1", "1.", ".1", "-1.2", "1.2.3", "70000.1", "1.5000000000", "a.b", "²." + "1"])
def test_a_bad_position_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a position"):
        BatchId.parse(text)


@given(ids)
def test_a_position_reads_back(id: BatchId) -> None:
    assert BatchId.parse(str(id)) == id


@pytest.mark.parametrize("message", [b"", b"short", b"\x09" + b"\0" * 15])
def test_a_message_that_is_no_batch_is_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match="batch"):
        unpack(message)
