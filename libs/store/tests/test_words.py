"""What is typed, and what is shown of a message: words of any language, phrases, marks that fit JavaScript's count."""

from __future__ import annotations

import pytest

from store.repositories.words import MOST_PHRASES, Excerpt, Wanted, excerpt, wanted, words


@pytest.mark.parametrize(
    ("typed", "phrases", "is_prefix"),
    [
        ("", (), False),
        ("   ", (), False),
        ('"""', (), True),
        ("ada", ("ada",), True),
        ("ada lovelace", ("ada", "lovelace"), True),
        ('"ada lovelace"', ("ada lovelace",), False),
        ('notes "ada lov', ("notes", "ada lov"), True),
        ("„Ada Lovelace“ «moi»", ("Ada Lovelace", "moi"), False),
        ("... --- !", (), True),
        ("a' & | ! :* <-> ()\\", ("a'",), True),
        ("\0nul\0", ("nul",), True),
        ("half\ud800", ("half",), True),
    ],
)
def test_whatever_is_typed_is_words_and_phrases(typed: str, phrases: tuple[str, ...], is_prefix: bool) -> None:
    assert wanted(typed) == Wanted(phrases, is_prefix)


def test_no_more_is_looked_for_than_there_may_be() -> None:
    assert wanted(" ".join(f"w{n}" for n in range(100))) == Wanted(tuple(f"w{n}" for n in range(MOST_PHRASES)), False)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Über-Größe, foo/bar_baz", ["uber", "große", "foo", "bar", "baz"]),
        ("Crème Brûlée; e\u0301te\u0301", ["creme", "brulee", "ete"]),
        ("ΣΊΣΥΦΟΣ Ёлка", ["σισυφοσ", "елка"]),
        ("東京都に行く", list("東京都に行く")),
        ("ok👍🏽ok", ["ok", "👍", "🏽", "ok"]),
        ("ﬁne ＡＢＣ１", ["fine", "abc1"]),
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा"]),
        ("", []),
    ],
)
def test_words_of_any_language(said: str, expected: list[str]) -> None:
    assert [word.text for word in words(said)] == expected


def test_every_word_knows_its_place() -> None:
    said = "…Ça, ﬁne 東京!"
    assert [said[word.start : word.end] for word in words(said)] == ["Ça", "ﬁne", "東", "京"]


def marked(found: Excerpt) -> list[str]:
    units = found.text.encode("utf-16-le")
    return [units[2 * start : 2 * end].decode("utf-16-le") for start, end in found.marks]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("creme", ["Crème"]),
        ("CREME bru", ["Crème", "brûlée"]),
        ('"creme brulee"', ["Crème brûlée"]),
        ('"creme bru"', []),
        ("crem", ["Crème"]),
        ("crem brulee", ["brûlée"]),
        ("東京", ["東京"]),
        ("script", ["script", "script"]),
    ],
)
def test_what_was_found_is_marked_past_letters_of_two_units(typed: str, expected: list[str]) -> None:
    said = "👍 Crème brûlée <script>alert('東京')</script>"
    found = excerpt(said, wanted(typed))
    assert found.text == said, "text as it is: who shows it shows text"
    assert marked(found) == expected


def test_of_a_long_message_the_piece_is_shown_where_it_was_found() -> None:
    said = "lorem ipsum\n\n  dolor " * 3000 + "a needle in a\n\nhaystack" + " and so on" * 500
    found = excerpt(said, wanted("needle hay"))
    assert marked(found) == ["needle", "haystack"]
    assert (found.text[0], found.text[-1]) == ("…", "…")
    assert "needle in a haystack and" in found.text
    assert len(found.text) <= 202
    assert "\n" not in found.text


def test_what_cannot_be_marked_begins_at_its_beginning() -> None:
    assert excerpt("something else", wanted("nothing")) == Excerpt("something else", ())
