"""The bytes of the chunk log, frozen: readers of another age split them too, for as long as the log keeps them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from contracts import chunks
from contracts.batches import END, HEADER_SIZE, START, VERSION, Batch, BatchId, pack, unpack
from contracts.frames import frame

EXAMPLES = Path(__file__).parent / "examples" / "batches"

FROZEN = {
    "start": (
        Batch(BatchId(1, 1), START, 0, b""),
        [chunks.start("0199-message", {"retinue": {"turn": "0199-turn", "status": "running"}})],
    ),
    "text": (
        Batch(BatchId(1, 2), START, 0, b""),
        [chunks.start_step(), chunks.text_start("1.0.1.1"), chunks.text_delta("1.0.1.1", "Grüße, 😀\n")],
    ),
    "cut": (
        Batch(BatchId(258, 66051), BatchId(257, 66050), 0, b""),
        [chunks.tool_output_available("0199-call", {"result": 42}, ours=True)],
    ),
    "end": (Batch(BatchId(2, 9), BatchId(1, 8), END, b""), [chunks.finish("stop")]),
}


@pytest.mark.parametrize("name", FROZEN)
def test_frozen_batches_are_read_and_made_to_the_byte(name: str) -> None:
    expected, said = FROZEN[name]
    kept = bytes.fromhex((EXAMPLES / f"{name}.hex").read_text())
    made = pack(expected.id, expected.cut, frame(said, expected.id, done=expected.is_end), expected.flags)
    assert made == kept
    read = unpack(kept)
    assert (read.id, read.cut, read.flags) == (expected.id, expected.cut, expected.flags)
    assert read.body == frame(said, expected.id, done=expected.is_end)


def test_the_header_is_sixteen_bytes_in_network_order() -> None:
    header = pack(BatchId(0x0102, 0x03040506), BatchId(0x0708, 0x090A0B0C), b"", END)
    assert header.hex(" ") == "01 01 01 02 03 04 05 06 07 08 00 00 09 0a 0b 0c"
    assert (HEADER_SIZE, VERSION, END) == (16, 1, 1)


def test_the_largest_numbers_fit_and_larger_ones_are_refused() -> None:
    largest = BatchId(0xFFFF, 0xFFFF_FFFF)
    assert unpack(pack(largest, largest, b"x")).id == largest
    with pytest.raises(struct.error):
        pack(BatchId(0x10000, 1), START, b"")
    with pytest.raises(struct.error):
        pack(BatchId(1, 1 << 32), START, b"")


@pytest.mark.parametrize("message", [b"", b"\x01" * 15, b"\x02" + b"\x00" * 15, b"\x00" * 16])
def test_what_is_no_batch_of_this_version_is_said_to_be_none(message: bytes) -> None:
    with pytest.raises(ValueError):
        unpack(message)


def test_flags_that_come_later_do_not_disturb_a_reader() -> None:
    batch = unpack(pack(BatchId(1, 1), START, b"x", END | 0x80))
    assert batch.is_end
    assert batch.body == b"x"
