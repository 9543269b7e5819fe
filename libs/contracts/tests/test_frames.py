import pytest

from contracts.batches import BatchId
from contracts.frames import event, frame


def test_an_event_carries_its_id_before_its_data():
    assert event(b'{"type":"start-step"}') == b'data: {"type":"start-step"}\n\n'
    assert event(b"{}", BatchId(3, 12)) == b"id: 3.12\ndata: {}\n\n"


def test_a_batch_has_its_id_on_the_last_event_only():
    body = frame([{"type": "start-step"}, {"type": "finish-step"}], BatchId(2, 7))
    assert body == b'data: {"type":"start-step"}\n\nid: 2.7\ndata: {"type":"finish-step"}\n\n'
    assert frame([], BatchId(2, 8), done=True) == b"id: 2.8\ndata: [DONE]\n\n"


def test_a_batch_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one event"):
        frame([], BatchId(1, 1))
