"""What this process has of the web: the guarded client, the reader of pages, the search engine that is set up.

Settings are read at each use, so that what an admin changes holds at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from outbound import Fetched, Guarded, HostPort, Limits, Names, Policy
from turn_runner.pages.reader import PageReader
from turn_runner.search import firecrawl, searxng
from turn_runner.search.engine import Found, Place, SearchFailed
from turn_runner.search.means import engine_of
from turn_runner.settings import RunnerSettings

AGENT = "Retinue/0.1 (an assistant, on behalf of a person)"

TYPES = ("text/html", "application/xhtml+xml", "application/json", "text/plain")
_ACCEPT = "text/html,application/xhtml+xml;q=0.9,application/json;q=0.9,text/plain;q=0.8"
_ENGINE_BYTES = 2 << 20


class Web:
    """One per process."""

    def __init__(self, settings: RunnerSettings, client: Guarded, pages: PageReader) -> None:
        self._settings = settings
        self._client = client
        self.pages = pages

    @classmethod
    def of(cls, settings: RunnerSettings, names: Names | None = None) -> Self:
        """Put together from settings; `names` looks names up, the system's resolver if none is given."""
        client = Guarded(Policy(), names=names, agent=AGENT, at_once=settings.web_at_once)
        return cls(settings, client, PageReader(at_once=settings.web_readers))

    async def aclose(self) -> None:
        await self._client.aclose()

    async def fetch(self, url: str) -> Fetched:
        """A page that somebody named. Raises `OutboundError`."""
        settings = self._settings
        return await self._client.fetch(
            url,
            headers={"Accept": _ACCEPT},
            limits=Limits(settings.web_timeout, settings.web_bytes, settings.web_redirects),
            policy=self._policy(settings.outbound_allow),
            takes=is_readable,
            excess="cut",
        )

    async def search(self, query: str, place: Place | None) -> list[Found]:
        """What the deployment's engine finds. Raises `SearchFailed`, `OutboundError`."""
        settings = self._settings
        match engine_of(settings):
            case "firecrawl":
                key = settings.firecrawl_key.get_secret_value() if settings.firecrawl_key else ""
                address = settings.firecrawl_url or firecrawl.CLOUD
                ask, most = self._asking(address), settings.search_results
                return await firecrawl.search(ask, address=address, key=key, query=query, most=most, place=place)
            case "searxng":
                address = settings.searxng_url or ""
                ask, most = self._asking(address), settings.search_results
                return await searxng.search(ask, address=address, query=query, most=most)
            case None:
                raise SearchFailed("There is no search engine here. An admin can set one up in the settings.")

    def _asking(self, address: str) -> _Asking:
        """The engine's address is an admin's: it may be private."""
        host = HostPort.of_url(address)
        policy = self._policy([]).with_allowed([host] if host else [])
        return _Asking(self._client, policy, Limits(self._settings.search_timeout, _ENGINE_BYTES, redirects=2))

    def _policy(self, allow: list[str]) -> Policy:
        settings = self._settings
        ours = (
            settings.public_url or "",
            settings.database_url.get_secret_value(),
            settings.database_system_url.get_secret_value(),
            settings.nats_url.get_secret_value(),
        )
        own = [host for url in ours if url and (host := HostPort.of_url(url))]
        return Policy(allowed=tuple(HostPort.read(each) for each in allow), own=tuple(dict.fromkeys(own)))


class _Asking:
    """How the engine is asked."""

    def __init__(self, client: Guarded, policy: Policy, limits: Limits) -> None:
        self._client, self._policy, self._limits = client, policy, limits

    async def __call__(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Fetched:
        return await self._client.fetch(
            url, method=method, headers=headers, body=body, limits=self._limits, policy=self._policy
        )


def is_readable(media_type: str) -> bool:
    """Whether `web_fetch` can do something with this type."""
    return media_type in TYPES or media_type.endswith("+json")
