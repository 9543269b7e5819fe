"""What the lists that came with us say of models: litellm's file, read without importing litellm, and a short one.

litellm's import costs seconds and 190 MB; its list is one JSON file in its package, of which a thousand rows are kept.
"""

import logging
import re
from collections.abc import Mapping
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import orjson

from llm import catalogue_names
from llm.catalogue_facts import EFFORTS, LongPrices, ModelFacts
from llm.provider import Provider

log = logging.getLogger(__name__)

LITELLM_LIST = "model_prices_and_context_window_backup.json"
CURATED = Path(__file__).with_name("curated.json")

HOSTS: Mapping[str, str] = {
    "api.cerebras.ai": "cerebras",
    "api.deepinfra.com": "deepinfra",
    "api.deepseek.com": "deepseek",
    "api.fireworks.ai": "fireworks_ai",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
    "api.moonshot.ai": "moonshot",
    "api.novita.ai": "novita",
    "api.openai.com": "openai",
    "api.perplexity.ai": "perplexity",
    "api.sambanova.ai": "sambanova",
    "api.together.ai": "together_ai",
    "api.together.xyz": "together_ai",
    "api.x.ai": "xai",
    "api.z.ai": "zai",
    "dashscope-intl.aliyuncs.com": "dashscope",
    "openrouter.ai": "openrouter",
}
"""Servers with the OpenAI wire whose prices are known: only what is asked of *them* costs that."""

MAKERS = ("openai", "anthropic", "gemini")
KEPT = frozenset({*MAKERS, *HOSTS.values()})
MODES = frozenset({"chat", "responses"})
USUAL_EFFORTS = frozenset({"low", "medium", "high"})
ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
FIRST_GEMINI_TO_SEARCH_BESIDE_TOOLS = (3,)

Table = Mapping[str, Mapping[str, ModelFacts]]
"""By litellm's word for the provider, then by the model's bare name; `id` and `provider` of the facts are empty."""


def listed_as(provider: Provider) -> str | None:
    """Under which word the lists keep this provider's prices; None if nobody knows what it charges."""
    if provider.base_url:
        return HOSTS.get(urlsplit(provider.base_url).hostname or "")
    return provider.kind if provider.kind in KEPT else None


def litellm_table() -> Table:
    """Read litellm's list; empty, with a warning in the log, if it is not where it was. Blocks for some 50 ms."""
    try:
        spec = find_spec("litellm")
        folders = spec.submodule_search_locations if spec else None
        if not folders:
            log.warning("litellm is not installed: facts about models come from providers and a short list of our own")
            return {}
        rows: dict[str, dict[str, Any]] = orjson.loads((Path(folders[0]) / LITELLM_LIST).read_bytes())
    except (OSError, ValueError) as error:
        log.warning("litellm's list of models cannot be read (%s); facts come from providers and a short list", error)
        return {}
    table: dict[str, dict[str, ModelFacts]] = {}
    for key, row in rows.items():
        maker = row.get("litellm_provider")
        if maker not in KEPT or row.get("mode") not in MODES:
            continue
        name = key.removeprefix(f"{maker}/")
        table.setdefault(maker, {})[name] = _facts(maker, name, row)
    return table


def curated() -> tuple[Table, Mapping[str, Mapping[str, list[str]]]]:
    """Our own short list, for when litellm's is missing, and by kind and role the models to prefer by default."""
    content: dict[str, Any] = orjson.loads(CURATED.read_bytes())
    table: dict[str, dict[str, ModelFacts]] = {}
    for maker, models in content["models"].items():
        table[maker] = {name: _curated_facts(name, row) for name, row in models.items()}
    return table, content["defaults"]


def _curated_facts(name: str, row: dict[str, Any]) -> ModelFacts:
    facts: dict[str, Any] = {**row, "efforts": tuple(row.get("efforts", ())), "stated": frozenset({"images", "tools"})}
    if "long" in row:
        facts["long"] = LongPrices(**row["long"])
    return ModelFacts(id="", name=name, provider="", source="curated", **facts)


def _facts(maker: str, name: str, row: dict[str, Any]) -> ModelFacts:
    input_price, output_price = price(row.get("input_cost_per_token")), price(row.get("output_cost_per_token"))
    if not input_price and not output_price:
        # The list writes 0 where it does not know.
        input_price = output_price = None
    stated = {
        word
        for word, key in (("images", "supports_vision"), ("tools", "supports_function_calling"))
        if row.get(key) is not None
    }
    return ModelFacts(
        id="",
        name=name,
        provider="",
        context=count(row.get("max_input_tokens")),
        max_output=count(row.get("max_output_tokens")),
        images=bool(row.get("supports_vision")),
        tools=bool(row.get("supports_function_calling")) or "tools" not in stated,
        reasoning=bool(row.get("supports_reasoning")),
        efforts=_efforts(row),
        hosted_search=_searches(maker, name, row),
        input_price=input_price,
        cached_price=price(row.get("cache_read_input_token_cost")),
        output_price=output_price,
        source="litellm",
        written_price=price(row.get("cache_creation_input_token_cost")),
        search_price=_search_price(row),
        long=_long_prices(row),
        retires=_day(row.get("deprecation_date")),
        stated=frozenset(stated),
    )


def price(dollars_a_token: Any) -> int | None:
    """Millionths of a dollar for a million tokens; numbers below zero mean that it varies."""
    try:
        value = float(dollars_a_token)
    except (TypeError, ValueError):
        return None
    return round(value * 1e12) if value >= 0 else None


def count(value: Any) -> int | None:
    """A number of tokens, however it is written; None if it is none."""
    try:
        return int(value) or None
    except (TypeError, ValueError):
        return None


def _efforts(row: dict[str, Any]) -> tuple[str, ...]:
    levels = row.get("reasoning_effort_levels")
    if isinstance(levels, list):
        return tuple(effort for effort in EFFORTS if effort in levels)
    if not row.get("supports_reasoning"):
        return ()

    def has(effort: str) -> bool:
        said = row.get(f"supports_{effort}_reasoning_effort")
        return effort in USUAL_EFFORTS if said is None else bool(said)

    return tuple(effort for effort in EFFORTS if has(effort))


def _searches(maker: str, name: str, row: dict[str, Any]) -> bool:
    can = bool(row.get("supports_web_search") or row.get("search_context_cost_per_query"))
    if maker == "gemini":
        # Older ones search or call tools, never both in one request.
        return can and catalogue_names.read(name).version >= FIRST_GEMINI_TO_SEARCH_BESIDE_TOOLS
    return can and maker in MAKERS


def _search_price(row: dict[str, Any]) -> int | None:
    sizes = row.get("search_context_cost_per_query")
    dollars = cast(dict[str, Any], sizes).get("search_context_size_medium") if isinstance(sizes, dict) else None
    return round(dollars * 1e6) if isinstance(dollars, int | float) else None


def _long_prices(row: dict[str, Any]) -> LongPrices | None:
    steps = sorted(int(found[1]) for key in row if (found := ABOVE.fullmatch(key)))
    if not steps:
        return None
    suffix = f"above_{steps[0]}k_tokens"
    input_price = price(row.get(f"input_cost_per_token_{suffix}"))
    output_price = price(row.get(f"output_cost_per_token_{suffix}", row.get("output_cost_per_token")))
    if input_price is None or output_price is None:
        return None
    cached = row.get(f"cache_read_input_token_cost_{suffix}", row.get("cache_read_input_token_cost"))
    return LongPrices(steps[0] * 1000, input_price, output_price, price(cached))


def _day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        return None
