"""What a runner of tests needs beside its servers: providers as they are named, no vault, titles that go nowhere."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from llm.catalogue import Catalogue
from llm.connections import Connections, Patience
from llm.provider import Provider
from store import Store
from turn_runner.seen import KeptPrompts
from turn_runner.titles import Titles


class Serving:
    """These providers serve everybody."""

    def __init__(self, *providers: Provider) -> None:
        self.providers = providers

    async def of(self, user_id: UUID, *, has_own: bool = True) -> tuple[Provider, ...]:
        return self.providers


def model_side(store: Store, *providers: Provider, connections: Connections | None = None) -> dict[str, Any]:
    """Arguments of a `Workshop`."""

    async def nobody_listens(_: Any) -> None:
        pass

    return {
        "users": Serving(*providers),
        "catalogue": Catalogue(connections or Connections(Patience())),
        "prompts": KeptPrompts(),
        "titles": Titles(store, nobody_listens),
    }
