"""What every search engine takes and gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from contracts.json_values import clean_text
from outbound import Fetched

TITLE_MOST, SNIPPET_MOST, URL_MOST = 200, 600, 2000


@dataclass(frozen=True, slots=True)
class Place:
    """Roughly where the person is, as far as they want it told; empty is untold. `country` is its ISO code."""

    country: str = ""
    region: str = ""
    city: str = ""
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """One result, in the words of strangers."""

    title: str
    url: str
    snippet: str


class SearchFailed(Exception):
    """The engine gave no results; the text is for people and models."""


class Asking(Protocol):
    """How an engine is asked: the guarded client, with the engine's own address allowed."""

    async def __call__(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Fetched: ...


def found_of(items: Iterable[tuple[Any, Any, Any]], most: int) -> list[Found]:
    """The usable ones of (title, url, snippet), each address once, bounded."""
    found: dict[str, Found] = {}
    for title, url, snippet in items:
        if len(found) == most:
            break
        if isinstance(url, str) and _is_address(url) and url not in found:
            found[url] = Found(_line(title, TITLE_MOST) or url[:TITLE_MOST], url, _line(snippet, SNIPPET_MOST))
    return list(found.values())


def refused(engine: str, status: int) -> SearchFailed:
    """Why there are no results, by the status of the answer."""
    match status:
        case 401 | 403:
            why = "it does not accept the key that is set; an admin can mend that"
        case 402:
            why = "its credit is used up; an admin can mend that"
        case 429:
            why = "it was asked too often; try again in a minute"
        case _:
            why = f"it answered {status}"
    return SearchFailed(f"{engine} gave no results: {why}.")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and len(url) <= URL_MOST and url.isprintable()


def _line(text: Any, most: int) -> str:
    return clean_text(" ".join(text.split()))[:most] if isinstance(text, str) else ""
