"""A newer epoch takes back what an older one began beyond the cut, and nothing else."""

from contracts.batches import BatchId
from contracts.superseded import name_of, superseded

STEP = {"type": "step-start"}
TEXT = {"type": "text", "text": "x"}
CALL = {"type": "tool-t", "toolCallId": "c", "state": "input-available"}


def test_what_began_beyond_the_cut_goes_and_a_call_from_before_stays():
    parts = [STEP, TEXT, CALL, TEXT]
    began = [BatchId(1, 2), BatchId(1, 2), BatchId(1, 4), BatchId(1, 5)]
    assert superseded(parts, began, epoch=2, cut=BatchId(1, 4)) == [3]


def test_a_step_goes_with_its_last_part_even_if_it_began_before():
    parts = [STEP, TEXT, STEP, TEXT, TEXT]
    began = [BatchId(1, 1), BatchId(1, 1), BatchId(1, 3), BatchId(1, 4), BatchId(1, 5)]
    assert superseded(parts, began, epoch=2, cut=BatchId(1, 3)) == [2, 3, 4]
    assert superseded(parts, began, epoch=2, cut=BatchId(1, 4)) == [4]


def test_an_empty_step_that_counts_stays():
    parts = [STEP, TEXT, STEP]
    began = [BatchId(1, 1), BatchId(1, 1), BatchId(1, 2)]
    assert superseded(parts, began, epoch=2, cut=BatchId(1, 2)) == []


def test_the_new_epochs_own_parts_stay_whatever_their_number():
    parts = [STEP, TEXT, TEXT]
    began = [BatchId(1, 1), BatchId(1, 9), BatchId(2, 2)]
    assert superseded(parts, began, epoch=2, cut=BatchId(1, 1)) == [1]


def test_nothing_was_ever_committed():
    parts = [STEP, TEXT]
    assert superseded(parts, [BatchId(1, 1), BatchId(1, 2)], epoch=2, cut=BatchId(0, 0)) == [0, 1]


def test_an_epoch_that_committed_nothing_goes_whole():
    parts = [STEP, TEXT, TEXT, TEXT]
    began = [BatchId(1, 1), BatchId(1, 2), BatchId(2, 3), BatchId(3, 3)]
    assert superseded(parts, began, epoch=3, cut=BatchId(1, 2)) == [2]


def test_the_notice_itself_is_not_kept():
    parts = [STEP, TEXT, {"type": "data-superseded", "data": {}}]
    began = [BatchId(1, 1), BatchId(1, 1), BatchId(2, 1)]
    assert superseded(parts, began, epoch=2, cut=BatchId(1, 1)) == [2]


def test_nothing_is_shown_yet():
    assert superseded([], [], epoch=2, cut=BatchId(1, 1)) == []


def test_parts_have_names_where_clients_can_see_them():
    assert name_of({**TEXT, "providerMetadata": {"retinue": {"part": "p"}}}) == "p"
    assert name_of(CALL) == "c"
    assert name_of({"type": "source-url", "sourceId": "s", "url": "https://x.test"}) == "s"
    assert name_of(STEP) is None
