"""How credentials are checked and kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store import credentials
from store.credentials import Unfit

KEPT = credentials.hash_password("a long password")


def test_a_password_is_known_again_and_no_other_is():
    assert credentials.password_matches(KEPT, "a long password")
    assert not credentials.password_matches(KEPT, "a long passwore")
    assert not credentials.password_matches(KEPT, "")
    assert not credentials.password_matches("no hash at all", "a long password")
    assert KEPT.startswith("$argon2id$")
    assert credentials.hash_password("a long password") != KEPT


def test_a_hash_with_other_parameters_is_outdated():
    assert not credentials.is_outdated(KEPT)
    assert credentials.is_outdated(KEPT.replace("t=2", "t=1"))


def test_names_and_passwords_have_their_sizes():
    assert credentials.checked_username("  Ada.Lovelace ") == "Ada.Lovelace"
    assert credentials.checked_username("Зоя_7") == "Зоя_7"
    for unfit in ("", "ab", "a" * 41, "-ada", "a b", "a/b", "a\nb", "a\u200bb", "ada\x00"):
        with pytest.raises(Unfit):
            credentials.checked_username(unfit)
    credentials.check_password("1234567890")
    for unfit in ("123456789", "x" * 257):
        with pytest.raises(Unfit):
            credentials.check_password(unfit)


def test_codes_are_long_random_and_named():
    codes = {credentials.random_code("ret_") for _ in range(100)}
    assert len(codes) == 100
    assert all(code.startswith("ret_") and len(code) >= 47 for code in codes)
    assert len(credentials.digest("x")) == 32


@given(st.text(max_size=60))
def test_a_key_is_its_own_key_and_whatever_is_checked_has_one(name):
    key = credentials.username_key(name)
    assert credentials.username_key(key) == key
    try:
        shown = credentials.checked_username(name)
    except Unfit:
        return
    assert credentials.username_key(shown) == key
    assert credentials.checked_username(shown) == shown
