"""Errors named by what the receiver should do about them.

Deeper code raises them; the edges translate: the gateway to `{error, message, …}` with a status, a bus handler to
an acknowledgement, `service.run` to an exit code. Anything else that escapes is a bug and is treated as one.
"""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """Tell the asker and do not try again: the wish itself is the reason.

    `status` is the HTTP status, `error` a stable snake_case code for programs, `message` one sentence for people,
    `fields` whatever else helps (a limit, a field name, ids of the asker). Never secrets, never another user's data.
    """

    def __init__(
        self, status: int, error: str, message: str, *, headers: dict[str, str] | None = None, **fields: Any
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.headers: dict[str, str] = headers or {}
        self.fields = fields

    def body(self) -> dict[str, Any]:
        """The JSON body that every refused request gets."""
        return {"error": self.error, "message": self.message, **self.fields}


class Busy(Refused):
    """Try again shortly: a bounded resource is full (503 with `Retry-After`, in seconds)."""

    def __init__(self, message: str, *, retry_after: int = 1, status: int = 503, **fields: Any) -> None:
        super().__init__(
            status, "busy", message, headers={"Retry-After": str(retry_after)}, retry_after=retry_after, **fields
        )
        self.retry_after = retry_after


class Retryable(Exception):
    """Try the same thing again after `delay` seconds: a dependency failed, not the wish."""

    def __init__(self, message: str, *, delay: float = 1.0) -> None:
        super().__init__(message)
        self.delay = delay


class Misconfigured(Exception):
    """Do not start: a setting is missing, wrong or unsafe. The message names the setting and the remedy."""


class Unreachable(Exception):
    """Do not start: a server that is needed did not answer before the deadline."""
