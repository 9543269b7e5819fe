"""The rules of a reader, each by the story that goes wrong without it: what `turn_model.py --without RULE` prints.

Here the gateway's own viewer and our own client go through it. README.md says which rule lives where.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from contracts.batches import START, Batch, BatchId
from contracts.turns import TurnStatus
from gateway.streams.follower import Close, Deliver, Fill, Follower, Reset, Row, Supersede
from tests.property.clients import LOOK, Window
from tests.property.clock import calm, play_out
from tests.property.lives import Holder, Life, ModelCall
from tests.property.plays import Play
from tests.property.test_readers import shows_what_is_stored

SAYS_ONE = ModelCall(pieces=1)
"""Its first claim makes three batches: 1 `start`, 2 the text, 3 the text's end; then it commits."""


def told(play: Play, story: Callable[[Play], Awaitable[None]]) -> Play:
    """The story, and its good end: everybody shows what is stored."""

    async def whole() -> None:
        await play.staged(lambda: story(play))

    play_out(whole())
    for window in play.windows:
        shows_what_is_stored(play, window)
    return play


def says(holder: Holder, number: int) -> None:
    """Goes on up to this batch."""
    while holder.number < number:
        holder.go_on()


def commits(holder: Holder) -> None:
    before = holder.life.commit
    while holder.life.commit == before:
        holder.go_on()


def arrives(holder: Holder, *, stored: bool = True, live: bool = True) -> None:
    while holder.wire:
        holder.life.publish(holder.wire.pop(0), stored=stored, live=live)


async def hears(window: Window) -> None:
    while window.inbox:
        window.hear()
    await calm()


async def looks() -> None:
    """Time for a look at row and log that somebody has begun."""
    await asyncio.sleep(10 * LOOK)


def claimed(life: Life) -> Holder:
    holder = life.claim()
    assert holder is not None
    return holder


def batch(epoch: int, number: int, cut: BatchId = START) -> Batch:
    return Batch(BatchId(epoch, number), cut, 0, b"x")


def test_cut_is_id() -> None:
    """A whole epoch is missed between two whose numbers join: 1.1 1.2 1.3, (2.1 2.2 2.3), 3.4."""

    async def story(play: Play) -> None:
        life, window = play.life, play.join(sees_beginning=True)
        await calm()
        first = claimed(life)
        says(first, 3)
        arrives(first)
        await hears(window)
        life.take_away(lives_on=False)
        second = claimed(life)
        says(second, 3)
        arrives(second, live=False)
        commits(second)
        life.take_away(lives_on=False)
        life.close(TurnStatus.STOPPED)
        life.relay()
        await hears(window)
        assert window.message.position == BatchId(1, 3), "3.4 was taken for what follows 1.3"
        assert life.cuts[3] == BatchId(2, 3)
        await looks()
        assert window.message.superseded == 1

    told(Play((SAYS_ONE,)), story)


def test_cut_in_header() -> None:
    """The first batch of an epoch is missed: every other one tells the cut as well."""
    follower = Follower()
    for number in (1, 2, 3):
        follower.learn(batch(1, number))
        assert isinstance(follower.next(), Deliver)
    follower.learn(batch(2, 2))
    step = follower.next()
    assert step == Supersede(2, 0, (BatchId(1, 1), BatchId(1, 2), BatchId(1, 3)))


def test_cut_of_turn() -> None:
    """The claim between was lost and committed nothing: the third goes on from what the first has committed."""

    async def story(play: Play) -> None:
        life, window = play.life, play.join(sees_beginning=True)
        await calm()
        first = claimed(life)
        says(first, 3)
        arrives(first)
        commits(first)
        await hears(window)
        life.take_away(lives_on=False)
        claimed(life)
        life.take_away(lives_on=False)
        third = claimed(life)
        assert (third.cut, third.number) == (BatchId(1, 3), 3)
        says(third, 4)
        arrives(third)
        await hears(window)
        assert window.message.position == BatchId(3, 4)
        assert window.message.superseded == 0

    told(Play((SAYS_ONE, SAYS_ONE)), story)


def test_note_by_cut() -> None:
    """A batch was heard that the log never had; the next gateway cannot name its parts, the client takes them out."""

    async def story(play: Play) -> None:
        life, window = play.life, play.join(sees_beginning=True)
        await calm()
        first = claimed(life)
        says(first, 1)
        arrives(first)
        says(first, 2)
        arrives(first, stored=False)
        await hears(window)
        assert [part["type"] for part in window.message.shown["parts"]] == ["step-start", "text"]
        life.take_away(lives_on=False)
        window.cut_after(0)
        second = claimed(life)
        says(second, 2)
        arrives(second)
        await looks()
        assert window.message.superseded == 1

    play = told(Play((SAYS_ONE,)), story)
    shown = b"".join(connection.data for connection in play.windows[0].connections)
    assert b'"cut":0,"parts":[]' in shown, "the gateway was to know nothing of the lost part"


def test_note_began_only() -> None:
    """A call that began before the cut and got its result beyond it stays, and gets its result again."""

    async def story(play: Play) -> None:
        life, window = play.life, play.join(sees_beginning=True)
        await calm()
        first = claimed(life)
        commits(first)
        says(first, life.commit.number + 1)
        arrives(first)
        await hears(window)
        assert window.message.shown["parts"][-1]["output"] == "by 1"
        life.take_away(lives_on=False)
        says(claimed(life), life.commit.number + 1)
        arrives(life.holder)  # type: ignore[arg-type]
        await hears(window)
        await looks()
        assert window.message.superseded == 1
        assert window.message.shown["parts"][-1]["output"] == "by 2"

    told(Play((ModelCall(1, calls=(True,)),)), story)


@pytest.mark.parametrize("room", range(1, 420, 19))
def test_whole_batches(room: int) -> None:
    """The connection breaks somewhere inside a batch: the client has all of it or nothing."""

    async def story(play: Play) -> None:
        life, window = play.life, play.join(sees_beginning=True)
        await calm()
        first = claimed(life)
        says(first, 1)
        arrives(first)
        await hears(window)
        window.cut_after(room)
        says(first, 3)
        arrives(first)
        await hears(window)
        await looks()
        before = window.message.position
        life.take_away(lives_on=False)
        assert window.message.position == before
        assert len(window.message.reducer) == (0, 0, 2, 2)[before.number]

    told(Play((SAYS_ONE,)), story)


def test_reset_not_fill() -> None:
    """1.1 came again behind the others, which are gone: who is in mid-message starts over, nobody is filled up."""

    async def story(play: Play) -> None:
        life = play.life
        first = claimed(life)
        says(first, 1)
        again = first.wire[0]
        says(first, 3)
        arrives(first)
        life.publish(again)
        commits(first)
        del life.log[:3]
        assert [stored.batch.id for stored in life.log] == [BatchId(1, 1)]
        await play.until_shown(play.join())

    told(Play((SAYS_ONE, SAYS_ONE)), story)
    begun, row = Follower(BatchId(1, 1)), Row(1, BatchId(1, 3), is_final=False)
    assert isinstance(begun.next(row), Reset)
    assert isinstance(Follower().next(row), Fill)


def test_tail_by_row() -> None:
    """The log has no more, and the row says that there was: a fresh reader does not take the rest for the whole."""
    final = Row(1, BatchId(1, 3), is_final=True)
    follower = Follower()
    follower.learn(batch(1, 4), 4)
    assert isinstance(follower.next(final), Fill)
    early = Follower(BatchId(1, 2))
    assert isinstance(early.next(final), Reset)
    assert isinstance(Follower(BatchId(1, 3)).next(final), Close)

    async def story(play: Play) -> None:
        life = play.life
        first = claimed(life)
        says(first, 3)
        arrives(first)
        life.evict()
        commits(first)
        await play.until_shown(play.join())

    told(Play((SAYS_ONE,)), story)
