"""What can come of a wish to reach an address, named by what to do about it."""

from __future__ import annotations

from typing import Literal

FailureCode = Literal[
    "unknown_name", "unreachable", "tls", "timeout", "too_large", "type", "encoding", "redirects", "broken"
]


class OutboundError(Exception):
    """`text` is a sentence for people and models; `detail` is for our log only."""

    def __init__(self, text: str, detail: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.detail = detail


class Forbidden(OutboundError):
    """The address may not be reached, now or later: nothing was sent to it."""


class Failed(OutboundError):
    """It may be reached, but nothing of use came of it. `code` says why, for programs."""

    def __init__(self, code: FailureCode, text: str, detail: str = "") -> None:
        super().__init__(text, detail)
        self.code: FailureCode = code
