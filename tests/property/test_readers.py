"""Whatever happens to a turn, its log and a connection: every reader ends with exactly the message that is stored."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.streams.limits import StreamLimits
from store.turns.endings import metadata
from tests.property.clients import Window
from tests.property.clock import play_out
from tests.property.lives import TURN, ModelCall
from tests.property.plays import MOVES, Move, Play

SCRIPTS = st.lists(
    st.builds(ModelCall, st.integers(1, 3), st.booleans(), st.lists(st.booleans(), max_size=2).map(tuple)),
    min_size=1,
    max_size=3,
).map(tuple)
PLAYS = st.lists(st.tuples(st.sampled_from(MOVES), st.integers(0, 7)), max_size=80)
LIMITS = st.sampled_from(
    [StreamLimits(), StreamLimits(held_batches=2), StreamLimits(read_ahead=300), StreamLimits(queue_batches=2)]
)


def shows_what_is_stored(play: Play, window: Window) -> None:
    """Part by part, and what is said of the turn as a whole."""
    life, shown = play.life, window.message.shown
    assert shown["parts"] == life.stored()
    error = life.state().error
    assert shown["metadata"] == metadata(TURN, life.status.value, life.ended_by, error)


@given(script=SCRIPTS, moves=PLAYS, limits=LIMITS)
def test_every_reader_ends_with_the_stored_message(
    script: tuple[ModelCall, ...], moves: list[Move], limits: StreamLimits
) -> None:
    """reduce(live) minus what was named superseded = stored; reduce(replay) = stored; from Postgres alone, too."""
    all_end_with_what_is_stored(Play(script, limits), moves)


# What was found so, each a fault that was mended


def test_a_fresh_reader_waits_until_it_knows_the_log() -> None:
    """A zombie's batch arrives live before row and log were read, which knew of a newer epoch."""
    ends = [("claim", 0), ("go on", 0), ("pause", 0), ("close", 7), ("relay", 0)]
    all_end_with_what_is_stored(Play((ModelCall(),)), [*ends, ("join", 3), ("late", 0), ("hear", 1)])


def test_who_is_reset_after_a_note_has_the_note() -> None:
    """Else it asks on from the same position, is reset again, and so for ever: a cut behind which the log is gone."""
    takes_over = [("claim", 6), ("go on", 2), ("arrive", 2), ("lost claim", 0), ("claim", 5)]
    loses = [("cut", 6), ("go on", 2), ("arrive", 6), ("evict", 0)]
    all_end_with_what_is_stored(Play((ModelCall(3, thinks=True),)), [*takes_over, *loses])


def test_a_note_ends_no_part_of_which_nobody_knows_whether_it_is_open() -> None:
    """A batch was heard that the log never had: it ended one part and began another."""
    begins = [("claim", 4), ("go on", 7), ("arrive", 5), ("go on", 7), ("go on", 2), ("arrive", 3), ("join", 7)]
    breaks = [("wait", 2), ("arrive", 7), ("break", 4)]
    all_end_with_what_is_stored(Play((ModelCall(2, thinks=True, calls=(True,)),)), [*begins, *breaks])


def all_end_with_what_is_stored(play: Play, moves: list[Move]) -> None:
    play_out(play.run(moves))
    for window in play.windows:
        shows_what_is_stored(play, window)
