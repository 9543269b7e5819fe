"""What comes near the broker's limit is refused by its size, with both numbers."""

import pytest

from contracts.sizes import MESSAGE_LIMIT, MessageTooLarge, refuse_large
from contracts.subjects import MAX_PAYLOAD


def test_the_limit_itself_passes_and_leaves_room_for_headers() -> None:
    refuse_large("fact.x", b"x" * MESSAGE_LIMIT)
    assert MESSAGE_LIMIT + 32 * 1024 < MAX_PAYLOAD


def test_one_byte_more_is_refused_with_its_size_and_the_limit() -> None:
    with pytest.raises(MessageTooLarge, match=r"a message of 33,000,000 bytes for fact\.x; the limit is 8,323,072"):
        refuse_large("fact.x", b"x" * 33_000_000)
    with pytest.raises(MessageTooLarge):
        refuse_large("fact.x", b"x" * (MESSAGE_LIMIT + 1))
