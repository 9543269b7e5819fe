"""Firecrawl's search, version 2: its cloud with a key, or one's own server."""

from __future__ import annotations

from typing import Any

import orjson

from turn_runner.search.engine import Asking, Found, Place, SearchFailed, found_of, refused

CLOUD = "https://api.firecrawl.dev"


async def search(ask: Asking, *, address: str, key: str, query: str, most: int, place: Place | None) -> list[Found]:
    """Raises `SearchFailed`; `OutboundError` if the engine cannot be reached."""
    wish: dict[str, Any] = {"query": query, "limit": most, "sources": ["web"]}
    if place is not None:
        wish |= {"country": place.country} if place.country else {}
        named = ",".join(part for part in (place.city, place.region, place.country) if part)
        wish |= {"location": named} if named else {}
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    answer = await ask(f"{address.rstrip('/')}/v2/search", method="POST", headers=headers, body=orjson.dumps(wish))
    if answer.status != 200:
        raise refused("Firecrawl", answer.status)
    try:
        data = orjson.loads(answer.body)["data"]
        results = data.get("web") or []
        return found_of(((each.get("title"), each["url"], each.get("description")) for each in results), most)
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as odd:
        raise SearchFailed("Firecrawl gave no results: its answer was not of the known form.") from odd
