"""Two servers on loopback: a site that an admin allowed under two names, and one that nobody may reach."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from outbound import Guarded, HostPort, Limits, Policy
from tests.kit.site import Book, Site

Client = Callable[..., Guarded]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """Reached as site.test and other.test, which `client` allows."""
    async with Site.opened() as opened:
        yield opened


@pytest.fixture
async def private() -> AsyncIterator[Site]:
    """Whoever comes here, has come where nobody may."""
    async with Site.opened() as opened:
        yield opened


@pytest.fixture
async def client(site: Site) -> AsyncIterator[Client]:
    """Makes clients that know the names of a book; `own` are the deployment's own hosts."""
    made: list[Guarded] = []

    def make(book: Book | None = None, *, own: tuple[HostPort, ...] = (), **limits: Any) -> Guarded:
        allowed = (HostPort("site.test", site.port), HostPort("other.test", site.port))
        book = book or Book(site_test="127.0.0.1", other_test="127.0.0.1")
        made.append(Guarded(Policy(allowed, own), Limits(**limits), names=book))
        return made[-1]

    yield make
    for each in made:
        await each.aclose()
