import sys

from hypothesis import given
from hypothesis import strategies as st

from contracts.pieces import Pieces


@given(st.lists(st.one_of(st.text(max_size=3), st.none()), max_size=300))
def test_it_is_the_text_whenever_somebody_looks(steps: list[str | None]) -> None:
    pieces, said = Pieces(), ""
    for step in steps:
        if step is None:
            assert pieces.text() == said
        else:
            pieces.append(step)
            said += step
    assert pieces.text() == said
    assert pieces or not said


def test_nothing_is_false_however_often_it_is_looked_at() -> None:
    pieces = Pieces()
    assert not pieces
    assert pieces.text() == ""
    assert not pieces
    pieces.append("a")
    assert pieces


def test_many_pieces_do_not_stay_many_objects() -> None:
    pieces = Pieces()
    words = [f"word {number} " for number in range(10_000)]
    for word in words:
        pieces.append(word)
    held = sum(map(sys.getsizeof, (*pieces._joined, *pieces._new)))  # pyright: ignore[reportPrivateUsage]
    assert held < 1.2 * sum(map(len, words))
    assert sum(map(sys.getsizeof, words)) > 4 * held
