"""By what a turn searches the web: the model's own provider, the deployment's engine, or not at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, Protocol
from zoneinfo import available_timezones

from llm import HostedSearch
from turn_runner.search.engine import Place
from turn_runner.settings import RunnerSettings

Means = Literal["hosted", "tool"]
Engine = Literal["firecrawl", "searxng"]

_COUNTRY = re.compile(r"[A-Za-z]{2}")
_PART_MOST = 80


class Searches(Protocol):
    """A model's facts, or the abilities of a wire."""

    @property
    def hosted_search(self) -> bool: ...


def search_means(facts: Searches | None, wire: Searches | None, settings: RunnerSettings) -> Means | None:
    """`hosted` if model and wire both can and the deployment lets them, else `tool` if there is an engine."""
    if wants_hosted(facts, settings) and wire is not None and wire.hosted_search:
        return "hosted"
    return "tool" if engine_of(settings) is not None else None


def wants_hosted(facts: Searches | None, settings: RunnerSettings) -> bool:
    """Whether a wire with hosted search should be chosen for a model of these facts."""
    return settings.search in ("auto", "provider") and facts is not None and facts.hosted_search


def engine_of(settings: RunnerSettings) -> Engine | None:
    """The engine that the deployment has set up: the one that is chosen, else the first with an address or a key."""
    wanted = settings.search
    has_firecrawl = bool(settings.firecrawl_url or _secret(settings))
    if wanted in ("auto", "firecrawl") and has_firecrawl:
        return "firecrawl"
    if wanted in ("auto", "searxng") and settings.searxng_url:
        return "searxng"
    return None


def place_of(user_settings: Mapping[str, Any]) -> Place | None:
    """Where the person is, roughly; None unless they turned that on. What is no country or zone is left untold."""
    if user_settings.get("search_place") is not True:
        return None
    country = _part(user_settings, "place_country")
    zone = _part(user_settings, "zone")
    place = Place(
        country=country.upper() if _COUNTRY.fullmatch(country) else "",
        region=_part(user_settings, "place_region"),
        city=_part(user_settings, "place_city"),
        zone=zone if zone in available_timezones() else "",
    )
    return place if place != Place() else None


def hosted_search(user_settings: Mapping[str, Any]) -> HostedSearch:
    """What the provider's own search is told."""
    place = place_of(user_settings) or Place()
    return HostedSearch(country=place.country, city=place.city, region=place.region, timezone=place.zone)


def _part(user_settings: Mapping[str, Any], name: str) -> str:
    value = user_settings.get(name)
    return " ".join(value.split())[:_PART_MOST] if isinstance(value, str) else ""


def _secret(settings: RunnerSettings) -> str:
    return settings.firecrawl_key.get_secret_value() if settings.firecrawl_key else ""
