"""The client's half of the stream: whole batches only, what is superseded goes, positions stand for all before."""

from cli.bench.batches import BatchReader, Message, WholeBatch
from contracts import chunks
from contracts.batches import BatchId
from contracts.frames import frame

START = {"type": "start", "messageId": "m"}


def read(data: bytes, size: int) -> list[WholeBatch]:
    reader = BatchReader()
    return [batch for n in range(0, len(data), size) for batch in reader.feed(data[n : n + size])]


def whole(*said: chunks.Chunk, epoch: int = 1, number: int, done: bool = False) -> WholeBatch:
    (batch,) = read(frame(said, BatchId(epoch, number), done=done), 1000)
    return batch


def test_batches_come_whole_wherever_the_bytes_are_cut() -> None:
    data = (
        b": keep-alive\n\n"
        + frame([START], BatchId(1, 1))
        + frame([chunks.start_step(), chunks.text_start("p"), chunks.text_delta("p", "x\n\ny")], BatchId(1, 2))
        + frame([chunks.finish()], BatchId(1, 3), done=True)
    )
    for size in (1, 2, 7, len(data)):
        batches = read(data, size)
        assert [batch.id for batch in batches] == [BatchId(1, 1), BatchId(1, 2), BatchId(1, 3)]
        assert [len(batch.chunks) for batch in batches] == [1, 3, 1]
        assert [batch.is_end for batch in batches] == [False, False, True]


def test_what_a_broken_connection_cut_off_is_not_applied() -> None:
    data = frame([chunks.start_step(), chunks.text_start("p")], BatchId(1, 2))
    assert read(data[:-1], 5) == []


def test_where_a_turn_stands_in_line_belongs_to_no_batch() -> None:
    reader = BatchReader()
    status = chunks.data("retinue-status", {"position": 2}, transient=True)
    told = frame([status], BatchId(0, 0)).split(b"\n", 1)[1]  # without its id
    (batch,) = reader.feed(told + frame([START], BatchId(1, 1)))
    assert batch.chunks == [START]
    assert reader.loose == [status]


def test_parts_that_began_beyond_the_cut_go_with_their_step() -> None:
    message = Message()
    message.apply(whole(START, number=1))
    message.apply(whole(chunks.start_step(), chunks.text_start("a"), number=2))
    message.apply(whole(chunks.text_end("a"), chunks.finish_step(), number=3))
    message.apply(whole(chunks.start_step(), chunks.text_start("b"), chunks.text_delta("b", "dead"), number=4))
    note = [chunks.text_end("b"), chunks.finish_step(), chunks.superseded(2, 3, ["b"])]
    message.apply(whole(*note, epoch=2, number=3))
    assert message.position == BatchId(2, 3)
    assert [part["type"] for part in message.shown["parts"]] == ["step-start", "text"]
    message.apply(whole(chunks.start_step(), chunks.text_start("c"), chunks.text_end("c"), epoch=2, number=4))
    message.apply(whole(chunks.finish(), epoch=2, number=5, done=True))
    assert [part["type"] for part in message.shown["parts"]] == ["step-start", "text", "step-start", "text"]
    assert message.is_ended
    assert message.superseded == 1
