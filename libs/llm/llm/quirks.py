"""What a provider has refused of a request that can do without it: learned once, left out from then on.

Compatible servers know different parts of the wire, and no list of them stays true. A refusal that names such a part
becomes `Adapted`, which the runner answers by asking again: this library itself never does. The ids of calls are such
a part as well: those of one provider can be too long, or have the wrong letters, for the next one.
"""

import hashlib
import re
import string

_ALPHABET = string.digits + string.ascii_letters

# The parts that may be left out (or, the limit and the ids of calls, be put differently), and how refusals call them.
LEAVABLE = {
    "ids": r"call_id|tool.?calls?\W.{0,12}\bid\b|tool call id|tool_use\.id",
    "stream_options": r"stream_options|include_usage",
    "tool_choice": r"tool_choice",
    "temperature": r"temperature",
    "effort": r"reasoning_effort|reasoning\.effort|support thinking|\bthink\b",
    "limit": r"max_tokens|max_completion_tokens|max_output_tokens",
    "summary": r"reasoning\.summary|reasoning summar",
    "encrypted": r"encrypted content|encrypted_content",
    "reasoning": r"reasoning_content|reasoning_details|['\"`.]reasoning\b",
}
_UNKNOWN = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|extra (inputs|fields)"
    r"|must be (verified|a-z)|too long|match pattern|instead",
    re.I,
)


def short_id(call_id: str) -> str:
    """Nine letters and digits that stand for a call's id: what the strictest provider takes, the same every time."""
    number = int.from_bytes(hashlib.sha256(call_id.encode()).digest()[:8])
    return "".join(_ALPHABET[number // 62**place % 62] for place in range(9))


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
        part = next((part for part, words in LEAVABLE.items() if re.search(words, detail, re.I)), None)
        if part is None or part in known:
            return None
        self._refused[model] = known | {part}
        return part
