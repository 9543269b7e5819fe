"""Words as search sees them, and the piece of a message that shows what was found.

`retinue_fold` (migration 0006) makes words in Postgres and finds them; this says the same in Python, letter by letter,
so that every letter keeps its place and can be marked. A test holds the two together.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_PHRASES = 32
"""Words and phrases of one search; more are not looked for."""

MOST_CHARACTERS = 100_000
"""So much of a message is found by its words."""

_BEFORE, _LENGTH = 50, 200
"""Characters of an excerpt: before what was found, and in all."""

_AROUND = 2000
"""Characters on each side of a find that are looked at."""

_NO_LETTERS = re.compile(
    "[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670"
    "\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]+"
)
_ALONE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U0001f000-\U0001faff\U00020000-\U0003ffff]"
)
_BETWEEN = re.compile(
    "[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u055a-\u055f\u0589\u05be\u05c0\u05c3\u05c6"
    "\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u2000-\u206f\u20a0-\u20cf\u2190-\u2bff\u2e00-\u2e7f"
    "\u3000-\u3004\u3008-\u303f\u30fb\ufe30-\ufe6f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
)
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"') | {"\0": " "})
_WORD = re.compile(r"[^ ]+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for: messages that say every one of these, each with its words in a row."""

    phrases: tuple[str, ...]
    is_prefix: bool
    """The last word of all is the beginning of one."""


@dataclass(frozen=True, slots=True)
class Word:
    """`start` and `end` are places in the text that it was read from."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    text: str
    marks: tuple[tuple[int, int], ...]
    """Start and end of what was found, in UTF-16 code units, as JavaScript counts."""


class _Folded(dict[str, str]):
    """A letter as it is compared; made once for each."""

    def __missing__(self, letter: str) -> str:
        plain = unicodedata.normalize("NFKD", letter).lower().replace("ς", "σ")
        plain = unicodedata.normalize("NFC", _NO_LETTERS.sub("", plain))
        self[letter] = _BETWEEN.sub(" ", _ALONE.sub(r" \g<0> ", plain))
        return self[letter]


_FOLDED = _Folded()


def wanted(query: str) -> Wanted:
    """Whatever a person typed: words, and phrases in quotes. Nothing that is typed is a mistake."""
    text = query.encode(errors="ignore").decode().translate(_QUOTES)
    phrases: list[str] = []
    pieces = text.split('"')
    for place, piece in enumerate(pieces):
        phrases += [piece] if place % 2 else piece.split()
    is_open = len(pieces) % 2 == 0 or bool(pieces[-1].strip())
    phrases = [phrase for phrase in phrases if any(words(phrase))]
    return Wanted(tuple(phrases[:MOST_PHRASES]), is_open and len(phrases) <= MOST_PHRASES)


def words(said: str) -> Iterator[Word]:
    """The words of a text, in order, as Postgres makes them of it."""
    pieces = [_FOLDED[letter] for letter in said]
    folded = "".join(pieces)
    origin: Sequence[int] = range(len(said))
    if len(folded) != len(said) or any(len(piece) != 1 for piece in pieces):
        origin = [place for place, piece in enumerate(pieces) for _ in piece]
    for found in _WORD.finditer(folded):
        yield Word(found[0][:100], origin[found.start()], origin[found.end() - 1] + 1)


def excerpt(said: str, looked_for: Wanted) -> Excerpt:
    """The piece of a text around what was found; its beginning, if nothing is to be marked."""
    said = said[:MOST_CHARACTERS]
    begin = max(0, _first(said, looked_for) - _AROUND)
    near = said[begin : begin + 2 * _AROUND]  # in a long text, words are counted only where they may be shown
    places = [(start + begin, end + begin, number) for start, end, number in _places(list(words(near)), looked_for)]
    start = _start(said, places)
    end = min(len(said), start + _LENGTH)
    text, moved = _on_one_line(said, start, end)
    marks = [(moved[first - start], moved[last - start]) for first, last, _ in places if start <= first and last <= end]
    head, tail = "…" if start else "", "…" if end < len(said) else ""
    shift = len(head)
    return Excerpt(head + text + tail, tuple((shift + _units(text, a), shift + _units(text, b)) for a, b in marks))


def _first(said: str, looked_for: Wanted) -> int:
    """About where the first of all that was looked for begins to be said; cheap, because a text may be long."""
    if len(said) <= 2 * _AROUND:
        return 0
    pieces = [_FOLDED[letter] for letter in said]
    folded = " " + "".join(pieces)
    firsts = [next(words(phrase)).text for phrase in looked_for.phrases]
    found = [place for place in (folded.find(" " + first) for first in firsts) if place >= 0]
    if not found:
        return 0
    length = 0
    for place, piece in enumerate(pieces):
        length += len(piece)
        if length > min(found):
            return place
    return 0


def _places(there: Sequence[Word], looked_for: Wanted) -> list[tuple[int, int, int]]:
    """Where phrases stand: start, end, and which phrase."""
    phrases = [[word.text for word in words(phrase)] for phrase in looked_for.phrases]
    last = len(phrases) - 1 if looked_for.is_prefix else -1
    places: list[tuple[int, int, int]] = []
    for at, word in enumerate(there):
        for number, phrase in enumerate(phrases):
            if _stands(there, at, phrase, is_prefix=number == last):
                places.append((word.start, there[at + len(phrase) - 1].end, number))
                break
    return places


def _stands(there: Sequence[Word], at: int, phrase: Sequence[str], *, is_prefix: bool) -> bool:
    if not phrase or at + len(phrase) > len(there):
        return False
    *whole, final = phrase
    said = there[at + len(whole)].text
    if not (said.startswith(final) if is_prefix else said == final):
        return False
    return all(there[at + place].text == word for place, word in enumerate(whole))


def _start(said: str, places: Sequence[tuple[int, int, int]]) -> int:
    """Where the excerpt begins: a little before the place around which most of the phrases stand."""
    best, most = 0, 0
    for place, (first, _, _) in enumerate(places):
        reach = first + _LENGTH - _BEFORE
        near = {number for start, end, number in places[place : place + 50] if start >= first and end <= reach}
        if len(near) > most:
            best, most = first, len(near)
    start = max(0, best - _BEFORE)
    if start == 0 or not most:
        return 0
    space = said.find(" ", start, best)
    return space + 1 if space >= 0 else start


def _on_one_line(said: str, start: int, end: int) -> tuple[str, list[int]]:
    """The piece with each run of white space as one space, and where each of its letters went."""
    text: list[str] = []
    moved: list[int] = []
    for letter in said[start:end]:
        moved.append(len(text))
        if not letter.isspace():
            text.append(letter)
        elif text and text[-1] != " ":
            text.append(" ")
    return "".join(text), [*moved, len(text)]


def _units(text: str, place: int) -> int:
    """A place in code points, in UTF-16 code units."""
    return place + sum(letter > "\uffff" for letter in text[:place])
