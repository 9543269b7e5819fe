"""What a provider has refused of a request that can do without it: learned once, left out from then on.

Compatible servers know different parts of the wire, and no list of them stays true. A refusal that names such a part
becomes `Adapted`, which the runner answers by asking again: this library itself never does.
"""

import re

# The parts that may be left out (or, the limit, be called by its other name), and how refusals call them.
LEAVABLE = {
    "stream_options": r"stream_options|include_usage",
    "tool_choice": r"tool_choice",
    "temperature": r"temperature",
    "effort": r"reasoning_effort|reasoning\.effort|thinking|\bthink\b",
    "limit": r"max_tokens|max_completion_tokens|max_output_tokens",
    "summary": r"reasoning\.summary|reasoning summar",
    "encrypted": r"encrypted content|encrypted_content",
    "reasoning": r"reasoning_content|reasoning_details|['\"`.]reasoning\b",
}
_UNKNOWN = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|extra (inputs|fields)"
    r"|must be verified|instead",
    re.I,
)


class Quirks:
    """By provider and model; lives as long as the process."""

    def __init__(self) -> None:
        self._refused: dict[str, frozenset[str]] = {}

    def refused(self, model: str) -> frozenset[str]:
        """The names of the parts (of `LEAVABLE`) that this model's provider does not take."""
        return self._refused.get(model, frozenset())

    def learn(self, model: str, status: int, detail: str) -> str | None:
        """The part that a refusal names as unknown, remembered; None if it names none, or one that is known already."""
        if status not in (400, 422) or not _UNKNOWN.search(detail):
            return None
        known = self.refused(model)
        for part, words in LEAVABLE.items():
            if part not in known and re.search(words, detail, re.I):
                self._refused[model] = known | {part}
                return part
        return None
