"""What a provider may be, and how it is said that it cannot be that."""

import pytest

from chassis.errors import Refused
from gateway.provider_wishes import KINDS, checked_address, checked_key, checked_name, demand, free_name, hint_of


@pytest.mark.parametrize("name", ["openai", "lab-2", "a.b_c", "7b"])
def test_names_that_are_prefixes_of_ids(name):
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", "Lab", "a/b", "-a", "demo", "a" * 41, "ü"])
def test_names_that_are_not(name):
    with pytest.raises(Refused, match=r"^name: "):
        checked_name(name)


def test_addresses():
    assert checked_address("http://127.0.0.1:8000/v1/") == "http://127.0.0.1:8000/v1"
    for wrong in ("ftp://a/", "127.0.0.1", "http://", "http://a:x/", "http://u:p@a/", "http://a/?k=1", "http://[::1"):
        with pytest.raises(Refused, match=r"^base_url: "):
            checked_address(wrong)


def test_a_key_is_shown_by_its_end_and_never_quoted():
    assert hint_of("sk-0123456789abcdef") == "…cdef"
    assert hint_of("short-key") == "…"
    with pytest.raises(Refused) as told:
        checked_key("sk-planted with a space")
    assert "planted" not in told.value.message


def test_what_a_kind_needs():
    with pytest.raises(Refused, match="OpenAI needs a key"):
        demand(KINDS["openai"], "", "")
    with pytest.raises(Refused, match="an address is needed"):
        demand(KINDS["compatible"], "sk", "")
    demand(KINDS["openai"], "sk", "")
    demand(KINDS["ollama"], "", "http://127.0.0.1:11434")


def test_a_name_is_found():
    assert free_name("openai", set()) == "openai"
    assert free_name("openai", {"openai", "openai-2"}) == "openai-3"
