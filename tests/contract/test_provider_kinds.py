"""The kinds that the gateway offers are those that the library of models knows, with the same needs."""

from gateway.provider_wishes import KINDS
from llm import provider


def test_the_kinds_are_the_same() -> None:
    assert set(KINDS) == set(provider.KINDS)


def test_they_need_the_same() -> None:
    assert {kind for kind, info in KINDS.items() if info.needs_key} == provider.NEEDS_KEY
    without_address = {kind for kind, info in KINDS.items() if not info.needs_address}
    assert without_address <= set(provider.OWN_ADDRESS)
