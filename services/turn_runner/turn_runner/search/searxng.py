"""A SearXNG server of one's own, asked for JSON."""

from __future__ import annotations

from urllib.parse import urlencode

import orjson

from turn_runner.search.engine import Asking, Found, SearchFailed, found_of, refused


async def search(ask: Asking, *, address: str, query: str, most: int) -> list[Found]:
    """Raises `SearchFailed`; `OutboundError` if the server cannot be reached. It is told of no place."""
    wish = urlencode({"q": query, "format": "json"})
    answer = await ask(f"{address.rstrip('/')}/search?{wish}", headers={"Accept": "application/json"})
    if answer.status == 403:
        raise SearchFailed(
            "SearXNG gave no results: it does not answer in JSON. An admin must add json to search.formats in its "
            "settings.yml."
        )
    if answer.status != 200:
        raise refused("SearXNG", answer.status)
    try:
        results = orjson.loads(answer.body)["results"]
        return found_of(((each.get("title"), each["url"], each.get("content")) for each in results), most)
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as odd:
        raise SearchFailed("SearXNG gave no results: its answer was not of the known form.") from odd
